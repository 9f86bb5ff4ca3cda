"""The fixture that exports models."""

import pytest


@pytest.fixture
def exporter(tmp_path, capsys, monkeypatch):
    from exporting import Exporter
    monkeypatch.chdir(tmp_path)
    return Exporter(tmp_path, capsys)
