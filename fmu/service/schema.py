"""The tables of the store. Counts are kept by triggers, so that no list has to count 1e5 rows."""

from __future__ import annotations

#: Changes with the tables; a store of another version is refused.
VERSION = 1

TABLES = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS blobs(
    hash TEXT PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL, kind TEXT NOT NULL, summary TEXT NOT NULL,
    created REAL NOT NULL);
CREATE INDEX IF NOT EXISTS blobs_by_age ON blobs(created);
CREATE INDEX IF NOT EXISTS blobs_by_name ON blobs(name, created);
CREATE TABLE IF NOT EXISTS jobs(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL,
    idempotency TEXT UNIQUE, digest TEXT NOT NULL,
    created REAL NOT NULL, started REAL, ended REAL,
    progress REAL NOT NULL DEFAULT 0, time_left REAL,
    attempts INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0,
    owner TEXT, lease REAL, cancel INTEGER NOT NULL DEFAULT 0,
    process INTEGER, process_mark TEXT,
    exit_status INTEGER, error TEXT, command TEXT);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs(state, id);
CREATE INDEX IF NOT EXISTS jobs_by_kind ON jobs(kind, id);
CREATE INDEX IF NOT EXISTS jobs_by_both ON jobs(state, kind, id);
CREATE TABLE IF NOT EXISTS events(
    id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, at REAL NOT NULL, what TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_job ON events(job, id);
CREATE TABLE IF NOT EXISTS counts(
    state TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY(state, kind)) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS jobs_come AFTER INSERT ON jobs BEGIN
    INSERT INTO counts VALUES(NEW.state, NEW.kind, 1) ON CONFLICT DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER IF NOT EXISTS jobs_go AFTER DELETE ON jobs BEGIN
    UPDATE counts SET number = number - 1 WHERE state = OLD.state AND kind = OLD.kind;
END;
CREATE TRIGGER IF NOT EXISTS jobs_change AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
    UPDATE counts SET number = number - 1 WHERE state = OLD.state AND kind = OLD.kind;
    INSERT INTO counts VALUES(NEW.state, NEW.kind, 1) ON CONFLICT DO UPDATE SET number = number + 1;
END;
"""
