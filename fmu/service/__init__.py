"""``kingpost serve``: jobs over HTTP on one machine: a store that survives, executors, files, events and a page.

Nothing here is imported by the rest of the house but by the verbs ``serve``, ``submit`` and ``jobs``; what needs FastAPI and
uvicorn (the extra ``service``) is imported when a server is started.
"""
