"""Which texts are protected for what they say: the known vectors, the traps, and a glob that is compared with a slow and obvious one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.machines.collector.policy import Policy
from triptych.machines.collector.protected_text import (
    _SECURE_PATH,
    glob_matches,
    is_bare_file_name,
    is_protected_text,
    is_protected_title,
    is_secure_path,
    percent_decode,
)

RULES = Policy().refuses_text


def no_rules(_text: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("plain", "plain"),
        ("%2eenv", ".env"),
        ("%E4%BD%A0", "你"),
        ("a%20b", "a b"),
        ("%zz", None),
        ("%", None),
        ("%4", None),
        ("100%", None),
        ("%ff", None),
        ("%C0%AE", None),  # overlong
        ("%ED%A0%80", None),  # a surrogate
        ("%2525", "%25"),
        ("é%20", "é "),
        ("\ud800%20", None),
        ("+", "+"),
    ],
)
def test_percent_decode(text: str, decoded: str | None) -> None:
    assert percent_decode(text) == decoded


@pytest.mark.parametrize(
    "path",
    [
        "/repo/.env",
        ".env",
        "/repo/.env.local",
        "/home/me/.ssh/config",
        "/home/me/.ssh",
        "/home/me/.netrc",
        "/x/.npmrc",
        "/x/id_rsa",
        "/x/ID_ED25519",
        "/x/id_ecdsa",
        "/x/id_dsa",
        "/x/service-account.json",
        "/x/a.pem",
        "/x/a.KEY",
        "/x/a.p12",
        "/x/a.pfx",
        "/x/a.jks",
        "/x/a.keystore",
        "/x/aws-credentials.json",
        "/x/Secrets/list",
    ],
)
def test_secure_paths(path: str) -> None:
    assert is_secure_path(path)


@pytest.mark.parametrize(
    "path", ["/x/.envrc", "/x/environment", "/x/.sshd", "/x/my.netrc.txt", "/x/id_rsa.pub", "/x/a.pem\n", "/x/key", "/x/secret"]
)
def test_paths_that_only_look_like_it(path: str) -> None:
    assert not is_secure_path(path)


@pytest.mark.parametrize("text", ["/repo/.env", "/repo/%2eenv", "%zz", "/repo/a%2ekey", "/x/mysecrets.txt"])
def test_protected_texts(text: str) -> None:
    assert is_protected_text(text, RULES)


def test_a_rule_is_asked_about_the_text_and_about_what_it_decodes_to() -> None:
    assert is_protected_text("a%20b", lambda text: text == "a%20b")
    assert is_protected_text("a%20b", lambda text: text == "a b")
    assert not is_protected_text("a%20b", no_rules)


@pytest.mark.parametrize(
    ("title", "with_built_ins", "without_rules"),
    [
        (".env notes.md", False, False),
        ("Managing secrets safely", True, False),
        (".env", True, True),
        ("aws-credentials.json", True, True),
        ("/Users/demo/.ssh/id_rsa", True, True),
        ("100%", True, True),
        ("100% done", False, False),
        ("provider.ts", False, False),
        ("tab\tseparated.pem", True, False),
    ],
)
def test_protected_titles(title: str, with_built_ins: bool, without_rules: bool) -> None:
    assert is_protected_title(title, RULES) is with_built_ins
    assert is_protected_title(title, no_rules) is without_rules


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("provider.ts", True),
        ("a.b.c", True),
        (".env", False),
        ("Readme", False),
        ("my file.txt", False),
        ("/x/provider.ts", False),
        ("name.toolongext", False),
        ("v1.2", True),
        ("a.ts\n", False),
    ],
)
def test_bare_file_names(title: str, bare: bool) -> None:
    assert is_bare_file_name(title) is bare


@given(st.text(alphabet="ab*/", max_size=8), st.text(alphabet="ab/?[", max_size=10))
def test_glob_agrees_with_the_obvious_one(pattern: str, text: str) -> None:
    obvious = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL)
    assert glob_matches(pattern, text) is (obvious is not None)


def test_glob_knows_no_other_wildcard() -> None:
    assert not glob_matches("a?c", "abc")
    assert not glob_matches("[ab]", "a")
    assert glob_matches("*", "")
    assert not glob_matches("a*a", "a")
    assert not glob_matches("*.PEM", "x.pem")


@given(
    st.text("aA/.envENV_idsShH\u017f\u0131\u0130\u212akKeyEY", max_size=12),
    st.sampled_from(["", "/.env", ".KEY", "SECRET\u017f", "/\u0131d_rsa", ".\u212aey"]),
)
def test_the_quick_look_passes_whatever_the_pattern_names(text: str, end: str) -> None:
    assert is_secure_path(text + end) == (_SECURE_PATH.search(text + end) is not None)
