"""The picture that a run writes."""

from tests.core.results.drawn import drawn, make_history


def test_the_writer_of_a_run_draws_the_same(plugins, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("kingpost.plugins.writers.png.save", lambda figure, path, run_id: saved.append(figure))
    plugins.writers.get("png")().write(make_history(), tmp_path / "x.png")
    names = [name for _, names in drawn(saved[0]) for name in names]
    assert "luff.Mx" in names
    assert not [name for name in names if "constraint" in name or "pose" in name or "motion" in name or "residual" in name]
