"""Tests of scripts/fetch-data with a server on this machine."""

import hashlib
import io
import socket
import sys
import tarfile
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from conftest import ROOT

CONTENT = bytes(range(256)) * 4000


def script():
    loader = SourceFileLoader("fetch_data", str(ROOT / "scripts" / "fetch-data"))
    module = module_from_spec(spec_from_loader("fetch_data", loader))
    loader.exec_module(module)
    return module


def archive():
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            entry = tarfile.TarInfo("folder/data.bin")
            entry.size = len(CONTENT)
            tar.addfile(entry, io.BytesIO(CONTENT))
        return file.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Supports requests for a range; ends the first answer half-way if `breaks` is set."""

    def __init__(self, state, *rest):
        self.state = state
        super().__init__(*rest)

    def do_GET(self):
        whole, asked = self.state["bytes"], self.headers.get("Range")
        self.state["ranges"].append(asked)
        if self.headers["User-Agent"].startswith("Python") or self.path == "/gone/set.tar.gz":
            return self.send_error(403)
        if self.path == "/moved/set.tar.gz":
            self.send_response(302)
            self.send_header("Location", self.state["url"])
            return self.end_headers()
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if begin >= len(whole):
            return self.send_error(416)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", self.state.get("length", str(len(whole) - begin)))
        if asked:
            shift = begin + self.state.get("shift", 0)
            self.send_header("Content-Range", f"bytes {shift}-{len(whole) - 1}/{len(whole)}")
        self.end_headers()
        end = len(whole) // 2 if self.state.pop("breaks", False) else len(whole)
        self.wfile.write(whole[begin:end])
        self.close_connection = True
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    state = {"bytes": archive(), "ranges": []}
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, state))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    state["url"] = f"http://127.0.0.1:{http.server_port}/set.tar.gz"
    yield state
    http.shutdown()
    http.server_close()


@pytest.fixture
def fetch(tmp_path, monkeypatch, capsys):
    """Run the script for a set at `url`; return its status and output."""
    def run(url, checksum, *words):
        module = script()
        urls = (url,) if isinstance(url, str) else url
        sets = {"toy": [module.Download(urls, checksum, {"folder/data.bin": "toy/data.bin"})]}
        monkeypatch.setattr(sys, "argv", ["fetch-data", *(words or ["toy"]), "--to", str(tmp_path)])
        status = module.main(sets)
        return status, "".join(capsys.readouterr())
    return run


@pytest.mark.parametrize("kind", [hashlib.md5, hashlib.sha256])
def test_a_set_is_fetched_once(server, fetch, tmp_path, kind):
    checksum = kind(server["bytes"]).hexdigest()
    assert "missing: 1 of 1 files" in fetch(server["url"], checksum, "--list")[1]
    assert fetch(server["url"], checksum)[0] == 0
    assert (tmp_path / "toy" / "data.bin").read_bytes() == CONTENT
    assert not (tmp_path / ".download").exists()
    assert fetch(server["url"], checksum)[0] == 0 and len(server["ranges"]) == 1
    assert "complete, in " in fetch(server["url"], checksum, "--list")[1]


@pytest.mark.parametrize("packed", [True, False])
def test_files_that_exist_are_not_changed(server, tmp_path, monkeypatch, packed):
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name in ("a.bin", "b.bin", "c.bin"):
                entry = tarfile.TarInfo(name)
                entry.size = len(CONTENT)
                tar.addfile(entry, io.BytesIO(CONTENT))
        server["bytes"] = file.getvalue()
    (tmp_path / "a.bin").write_bytes(b"mine")
    (tmp_path / "b.bin.gz").write_bytes(b"packed")
    module = script()
    sets = {"toy": [module.Download((server["url"],), hashlib.md5(server["bytes"]).hexdigest(),
                                    {name: name for name in ("a.bin", "b.bin", "c.bin")}, packed)]}
    gone = module.missing(sets["toy"], tmp_path)
    assert [path.name for path in gone] == (["c.bin"] if packed else ["b.bin", "c.bin"])
    monkeypatch.setattr(sys, "argv", ["fetch-data", "toy", "--to", str(tmp_path)])
    assert module.main(sets) == 0
    assert (tmp_path / "a.bin").read_bytes() == b"mine"
    assert (tmp_path / "b.bin").exists() != packed
    assert (tmp_path / "c.bin").read_bytes() == CONTENT


def test_a_copy_is_complete_if_the_program_can_read_it(tmp_path):
    module = script()
    for name in ("cifar10", "cifar100", "mnist", "fashion-mnist", "wikitext2", "multi30k"):
        for path in module.targets(module.SETS[name], tmp_path):
            path.parent.mkdir(exist_ok=True)
            path.with_name(path.name + ".gz").touch()
        complete = name not in ("wikitext2", "multi30k")
        assert (not module.missing(module.SETS[name], tmp_path)) == complete, name


def test_an_interrupted_download_continues(server, fetch, tmp_path):
    server["breaks"] = True
    checksum = hashlib.md5(server["bytes"]).hexdigest()
    status, said = fetch(server["url"], checksum)
    half = len(server["bytes"]) // 2
    assert status == 1 and f"after {half} of" in said and "same command again" in said
    assert not (tmp_path / "toy" / "data.bin").exists()
    assert fetch(server["url"], checksum)[0] == 0
    assert server["ranges"] == [None, f"bytes={half}-"]
    assert (tmp_path / "toy" / "data.bin").read_bytes() == CONTENT


def test_another_address_continues_and_redirects_are_followed(server, fetch, tmp_path):
    checksum = hashlib.md5(server["bytes"]).hexdigest()
    base = server["url"].rsplit("/", 1)[0]
    urls = [f"{base}/{folder}/set.tar.gz" for folder in ("gone", "moved")]
    server["breaks"] = True       # the answer after the second URL's redirect breaks off
    status, said = fetch(urls, checksum)
    assert status == 1 and "gone/set.tar.gz: the server answers 403" in said
    assert "moved/set.tar.gz: the connection ended" in said
    status, said = fetch(urls, checksum)
    assert status == 0 and (tmp_path / "toy" / "data.bin").read_bytes() == CONTENT
    half = f"bytes={len(server['bytes']) // 2}-"
    assert server["ranges"] == [None] * 3 + [half] * 3      # the redirect keeps the range


def test_a_range_that_was_not_requested_is_not_appended(server, fetch, tmp_path):
    checksum = hashlib.md5(server["bytes"]).hexdigest()
    server["breaks"] = True
    fetch(server["url"], checksum)
    server["shift"] = 7
    status, said = fetch(server["url"], checksum)
    assert status == 1 and "another part (bytes" in said
    assert fetch(server["url"], checksum)[0] == 0           # starts again from the first byte
    assert (tmp_path / "toy" / "data.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server, fetch, tmp_path):
    status, said = fetch(server["url"], "0" * 32)
    found = hashlib.md5(server["bytes"]).hexdigest()
    assert status == 1 and found in said and "0" * 32 in said and "toy            missing" in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("length, said", [
    ("many", "no size ('many')"), ("-7", "no size ('-7')"), ("1_0", "no size"), ("5, 5", "no size"),
    ("9" * 5000, "no size"), ("100", "has the checksum"), ("9" * 18, "the connection ended after"),
])
def test_a_wrong_length_is_reported(server, fetch, length, said):
    server["length"] = length
    status, told = fetch(server["url"], hashlib.md5(server["bytes"]).hexdigest())
    assert status == 1 and said in told and "toy            missing" in told


def test_missing_network_is_reported(fetch):
    with socket.socket() as held:                 # a port on which nobody listens
        held.bind(("127.0.0.1", 0))
        status, said = fetch(f"http://127.0.0.1:{held.getsockname()[1]}/set.tar.gz", "0" * 32)
    assert status == 1 and "no network" in said and "toy            missing" in said


def test_what_needs_a_registration_is_explained(fetch, tmp_path):
    status, said = fetch("http://127.0.0.1:1/", "0" * 32, "imagenet")
    assert status == 1 and "registration" in said and f"{tmp_path}/imagenet/train/n01440764" in said
    with pytest.raises(SystemExit) as ended:
        fetch("http://127.0.0.1:1/", "0" * 32, "nothing")
    assert ended.value.code == 2


def test_every_set_has_a_published_checksum():
    for name, downloads in script().SETS.items():
        places = [place for download in downloads for place in download.members.values()]
        assert len(set(places)) == len(places), name
        for download in downloads:
            assert len(download.checksum) in (32, 64) and int(download.checksum, 16)
