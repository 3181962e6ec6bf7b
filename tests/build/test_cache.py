"""The object cache never gives a wrong answer and stays within its bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from packager.build.cache import Cache, cache_directory, key_of


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("ab12", b"value")
    assert cache.get("ab12") == b"value"
    assert cache.get("ab13") is None


@pytest.mark.parametrize("damage", [b"", b"\0", b"short", bytes(40)])
def test_a_damaged_entry_is_a_miss_and_is_removed(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    cache.put("ab12", b"value")
    (tmp_path / "ab" / "ab12").write_bytes(damage)
    assert cache.get("ab12") is None
    assert not (tmp_path / "ab" / "ab12").exists()


def test_a_truncated_entry_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("ab12", b"value" * 1000)
    path = tmp_path / "ab" / "ab12"
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get("ab12") is None


def test_beyond_the_limit_what_was_not_used_for_longest_goes(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=4000)
    for index, key in enumerate(("aa1", "bb2", "cc3")):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / key[:2] / key, (1000 + index, 1000 + index))
    assert cache.get("aa1") is not None  # used just now
    cache.put("dd4", bytes(1000))
    cache.trim()
    assert cache.get("bb2") is None
    assert cache.get("aa1") is not None
    assert cache.get("dd4") is not None
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 4000


def test_a_cache_that_cannot_be_written_stays_silent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    cache.put("ab12", b"value")
    assert cache.get("ab12") is None


def test_keys_tell_where_one_part_ends() -> None:
    assert key_of(["ab", "c"]) != key_of(["a", "bc"])
    assert key_of(["ab", b"c"]) == key_of([b"ab", "c"])


def test_the_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EDGEPACK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "edgepack"
    monkeypatch.setenv("EDGEPACK_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
