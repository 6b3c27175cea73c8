"""Secrets in addresses: no message, metadata or representation shows them, whoever made its words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FastmetricsError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.tables import remote_files
from fastmetrics.tables.addresses import parse, shown_address
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import Output
from fastmetrics.tables.remote_files import cause
from tests.support.program import program

SHOWN = {
    "s3://key:hidden@bucket/x.csv": "s3://***@bucket/x.csv",
    "s3://key:hid/den@bucket/x.csv": "s3://***@bucket/x.csv",
    "s3://key:1/hid/den@bucket/in/x@y.csv": "s3://***@y.csv",
    "s3://key:hidden@bucket/x.csv?region=r&secret_key=hidden": "s3://***@bucket/x.csv?region=r&secret_key=***",
    "s3://bucket/x.csv?secret_key=hidden&session_token=hid": "s3://bucket/x.csv?secret_key=***&session_token=***",
    "s3://key:hidden/x.csv": "s3://***",
    "gs://key:hid/den@bucket/x.csv": "gs://***@bucket/x.csv",
    "gs://bucket/x.csv?client_secret=hidden&project_id=p": "gs://bucket/x.csv?client_secret=***&project_id=p",
    "abfs://box:hidden@account/x.csv": "abfs://***@account/x.csv",
    "abfs://box@account:hidden/x.csv": "abfs://***",
    "abfs://box@account/x.csv?client_secret=hidden&tenant_id=t": "abfs://box@account/x.csv?client_secret=***&tenant_id=t",
    "abfs://box@account/x.csv?sv=2&sig=hidden%3D": "abfs://box@account/x.csv?sv=***&sig=***",
    "hdfs://user:hid/den@node/x.csv": "hdfs://***@node/x.csv",
    "hdfs://user@node:8020/x.csv?kerb_ticket=hidden": "hdfs://user@node:8020/x.csv?kerb_ticket=***",
    "https://user:hidden@host:8080/x.csv": "https://***@host:8080/x.csv",
    "https://user:hid/den@host/x.csv": "https://***@host/x.csv",
    "https://host/x.csv?token=hidden&hidden": "https://host/x.csv?token=***&***",
    "https://host/x.csv?hidden": "https://host/x.csv?***",
    "https://hidden@host/x.csv": "https://***@host/x.csv",
    "https://host/x.csv#hidden": "https://host/x.csv#***",
    "https://host/x.csv?a=hidden#hid/den": "https://host/x.csv?a=***#***",
    "s3://hidden@bucket/x.csv": "s3://***@bucket/x.csv",
    "http:/user:hidden@host/x.csv": "http://***@host/x.csv",
    "s3:/key:hidden@bucket/x.csv": "s3://***@bucket/x.csv",
    "postgresql:/user:hidden@host/db?table=t": "postgresql://***@host/db?table=t",
    "postgresql://user:hid@den@host/db?table=t": "postgresql://***",
    "sftp://user:hid/den@host:22/x.csv": "sftp://***@host:22/x.csv",
}
"""Addresses, and how they are shown."""

PLAIN = [
    *("s3://bucket/x.csv", "s3://bucket/a:b@c/x.csv?region=r", "s3://anonymous@bucket/part-?.csv", "gs://bucket/d=?/x"),
    *(
        "hdfs://user@node:8020/a@b.csv",
        "https://host:8080/a@b:c.csv",
        "https://host/the-longest-of-all-names-without-any-number.csv",
        "abfs://box@account/x.csv",
        "memory://a/b.csv",
    ),
]
"""Addresses without a secret."""


def hides(text):
    """Whether a text holds no half of the secret."""
    return "hid" not in text and "den" not in text


@pytest.mark.parametrize("scheme", ["https", "s3", "postgresql"])
def test_an_address_without_slashes_hides_its_secret(scheme):
    assert parse(f"{scheme}:user:hidden@host/x.csv").shown == f"{scheme}://***@host/x.csv"


@pytest.mark.parametrize("address", SHOWN)
def test_shown_address_omits_its_secret(address):
    assert parse(address).shown == shown_address(address) == SHOWN[address]
    assert repr(parse(address)) == f"Url({SHOWN[address]!r})"
    assert hides(SHOWN[address])
    assert str(parse(address)) == address.replace("://", ":/").replace(":/", "://"), "and yet it is whole"


@pytest.mark.parametrize("address", PLAIN)
def test_address_without_secret_is_shown_unchanged(address):
    assert parse(address).shown == address


@given(
    secret=st.text("abcdefgh0123456789/+=_-%~!$&'()*,;", min_size=1, max_size=40),
    scheme=st.sampled_from(["s3", "gs", "s3a"]),
)
def test_secrets_with_any_characters_are_hidden(secret, scheme):
    assert re.fullmatch(r"(s3|gs)://\*\*\*@bucket/rows\.csv", parse(f"{scheme}://KEY:{secret}@bucket/rows.csv").shown)


@pytest.mark.parametrize("address", SHOWN)
def test_messages_of_other_packages_are_shown_without_secrets(address):
    for said in (
        "{}",
        "500, message='no', url='{}'",
        "Cannot connect to {}: refused",
        'when reading "{}" and then <{}>',
        "it broke\nat {}",
        "word " * 30 + "{} and so on",
        "{} {} {} {} {} {} {} {}",
    ):
        for error in (OSError(said.format(*[address] * 8)), FileNotFoundError(said.format(*[address] * 8))):
            told = cause(error)
            assert hides(told), said
            assert 0 < len(told) <= 200, said
            assert "\n" not in told, said


def test_messages_of_other_packages_are_shown():
    said = "Cannot connect to {}, refused\nat line 1"
    told = cause(OSError(said.format("https://u:hidden@host/x.csv?a=hidden")))
    assert told == "Cannot connect to https://***@host/x.csv?a=*** refused"
    assert cause(OSError(said.format("the host"))) == "Cannot connect to the host, refused"
    assert cause(OSError("https://u:hidden@host/x.csv")) == "the server refused the request"
    assert cause(OSError()) == "OSError"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """No store can be reached, and nobody waits for one."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 0.0)
    monkeypatch.setattr(RETRY_LIMITS, "store_attempts", 1)
    remote_files._native.cache_clear()


REFUSED = [
    *("s3://key:hid/den@bucket/x.csv", "s3://key:hidden@/x.csv", "s3:///x.csv?secret_key=hidden"),
    *("gs://key:hid/den@bucket/x.csv", "gs://key:hidden@bucket/x.csv", "gs://no bucket/x.csv?client_secret=hidden"),
    *("abfs://box:hid/den@account/x.csv", "abfs://box@account:hidden/x.csv"),
    *("abfs://box@account/x.csv?client_secret=hidden", "hdfs://no node/x.csv?kerb_ticket=hidden"),
    *("hdfs://user:hidden@node:80a/x.csv", "viewfs://us er:hidden@x/y.csv", "nobody://user:hidden@host/x.csv"),
]
"""Addresses that are refused before anybody is asked, by us or by Arrow, whose messages hold all of them."""


@pytest.mark.parametrize("address", REFUSED)
def test_error_for_invalid_address_omits_its_secret(tmp_path, address):
    for use in (open_source, lambda one: Output(one).check([], resume=False, overwrite=False)):
        with pytest.raises(FastmetricsError) as caught:
            use(address)
        assert hides(str(caught.value)), str(caught.value)
    for arguments in (("summarize", address), ("score", address, "-o", tmp_path / "o.csv"), ("rank", address, address)):
        done = program(*arguments)
        assert (done.code in (2, 3), done.out) == (True, "")
        assert hides(done.err), done.err


def test_error_for_unreachable_store_omits_the_secret():
    for address in ("s3://key:hidden@bucket/x.csv", "s3://key:hid%2Fden@bucket/x.csv?region=hidden-1"):
        done = program("summarize", address)
        assert (done.code, hides(done.err.replace("hidden-1", ""))) == (3, True)
        assert done.err.startswith(f"error: {shown_address(address)}: cannot be read: NETWORK_CONNECTION")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("KEY:a%2Fb%40c%25", {"access_key": "KEY", "secret_key": "a/b@c%"}),
        ("K%2FY:plain", {"access_key": "K/Y", "secret_key": "plain"}),
        ("anonymous", {"anonymous": True}),
    ],
)
def test_quoted_keys_of_an_address_are_those_of_the_store(monkeypatch, user, expected):
    """An address can hold the characters / and @ of a secret only quoted; the store gets them as they are."""
    opened = {}
    monkeypatch.setattr("pyarrow.fs.S3FileSystem", lambda **options: opened.update(options))
    remote_files._native.cache_clear()
    remote_files.store(parse(f"s3://{user}@bucket/rows.csv"))
    remote_files._native.cache_clear()
    assert {
        name: value for name, value in opened.items() if name in ("access_key", "secret_key", "anonymous")
    } == expected
