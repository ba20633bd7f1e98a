"""Requests over HTTP to the hosts that the manifest names. Needs `wasi:http/outgoing-handler` in `wants`.

The host follows no redirects: a response with one is a response like any other. What it refuses is a failure of category `denied`; what
grows too large, of category `limit`; what takes too long, of category `timeout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from .bindings import imported, known, translated
from .failure import Category, Failure
from .text import checked

_WRITE = 4096
"""How much of a body one host call writes."""
_READ = 256 * 1024
"""How much of a body one host call reads."""


@dataclass(frozen=True)
class Response:
    """The whole response of a server."""

    status: int
    """The status, 100 to 599."""
    fields: list[tuple[str, bytes]]
    """The fields of its head, names in lower case."""
    body: bytes
    """The body."""

    def text(self) -> str:
        """The body as UTF-8 text."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            raise Failure("invalid-input", "the response is not UTF-8 text") from None

    def field(self, name: str) -> str | None:
        """The first value of a field, by its name in lower case; None if there is none, or it is not UTF-8."""
        for known, value in self.fields:
            if known == name:
                try:
                    return value.decode()
                except UnicodeDecodeError:
                    return None
        return None


Fields = Union[Mapping[str, Union[str, bytes]], Iterable[tuple[str, Union[str, bytes]]]]
"""The fields of a request: a mapping, or pairs where a name stands more than once."""


def get(url: str) -> Response:
    """Asks for a URL."""
    return request(url)


def request(url: str, *, method: str = "GET", fields: Fields | None = None, body: str | bytes = b"") -> Response:
    """Sends a request and takes the whole response.

    `method` is in capital letters. Fields that say where a message ends or goes (`host`, `connection` and the like) are the host's.
    """
    types = imported("wasi_http_types")
    checked(url), checked(method)
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise _invalid(url, "a URL begins with https://")
    if scheme not in ("https", "http"):
        raise _invalid(url, "a URL begins with https:// or http://")
    rest = rest.split("#", 1)[0]
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority, path = rest[:end], rest[end:]

    pairs = fields.items() if isinstance(fields, Mapping) else fields or ()
    head = [(checked(name), _bytes(value)) for name, value in pairs]
    accepted = _attempt(url, lambda: types.Fields.from_list(head), "one of its fields may not be sent")
    outgoing = types.OutgoingRequest(accepted)
    _attempt(url, lambda: outgoing.set_method(_method(types, method)), "its method is none")
    kind = types.Scheme_Https if scheme == "https" else types.Scheme_Http
    _attempt(url, lambda: outgoing.set_scheme(kind()), "its scheme is none")
    _attempt(url, lambda: outgoing.set_authority(authority), "its host is none")
    _attempt(url, lambda: outgoing.set_path_with_query(path), "its path is none")
    sink = outgoing.body()
    data = _bytes(body)
    with sink.write() as stream:
        for at in range(0, len(data), _WRITE):
            chunk = data[at : at + _WRITE]
            _attempt(url, lambda chunk=chunk: stream.blocking_write_and_flush(chunk), "its body cannot be written")
    _sent(url, lambda: types.OutgoingBody.finish(sink, None))
    # The host sends a request once its body is complete.
    with _sent(url, lambda: imported("outgoing_handler").handle(outgoing, None)) as pending:
        with pending.subscribe() as ready:
            ready.block()
        answer = pending.get()
    # Once for a response that is not there yet, once for one that was taken before, once for what became of the request.
    if answer is None or type(answer).__name__ != "Ok":
        raise Failure("internal", "the host gave no response")
    if type(answer.value).__name__ != "Ok":
        raise _failed(url, answer.value.value)
    with answer.value.value as response:
        with response.headers() as headers:
            received = [(name, bytes(value)) for name, value in headers.entries()]
        with response.consume() as incoming:
            return Response(response.status(), received, _read(incoming))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _read(incoming: Any) -> bytes:
    content = bytearray()
    with incoming.stream() as stream:
        while True:
            try:
                content += stream.blocking_read(_READ)
            except Exception as raised:
                if type(raised).__name__ != "Err":
                    raise
                if type(raised.value).__name__ == "StreamError_Closed":  # type: ignore[attr-defined]
                    return bytes(content)
                raise Failure("transient", "the response ended before it was complete") from None


def _method(types: Any, method: str) -> Any:
    known = getattr(types, f"Method_{method.capitalize()}", None) if method == method.upper() else None
    return known() if known and method != "OTHER" else types.Method_Other(method)


def _invalid(url: str, what: str) -> Failure:
    return Failure("invalid-input", f"{url}: {what}")


def _attempt(url: str, call: Callable[[], Any], what: str) -> Any:
    return translated(call, lambda _: _invalid(url, what))


def _sent(url: str, call: Callable[[], Any]) -> Any:
    return translated(call, lambda code: _failed(url, code))


def _failed(url: str, code: Any) -> Failure:
    failure = known(_CODES, type(code).__name__.removeprefix("ErrorCode_"), url)
    return failure or Failure("permanent", f"{url}: the server does not speak HTTP as it should")


_CODES: dict[str, tuple[Category, str]] = {
    "HttpRequestDenied": ("denied", "the request is not granted"),
    "DestinationIpProhibited": ("denied", "its address is not granted"),
    "DnsError": ("transient", "its name could not be looked up"),
    "ConnectionRefused": ("transient", "the server takes no connections"),
    "ConnectionTerminated": ("transient", "the server ended the connection"),
    "ConnectionTimeout": ("timeout", "the server did not answer in time"),
    "HttpResponseTimeout": ("timeout", "the server did not answer in time"),
    "TlsCertificateError": ("permanent", "the server's certificate is refused"),
    "TlsProtocolError": ("permanent", "no secure connection came about"),
    "HttpRequestBodySize": ("limit", "the request is too long"),
    "HttpResponseBodySize": ("limit", "the response is too long"),
    "HttpResponseHeaderSectionSize": ("limit", "the response has too many fields"),
    "HttpResponseContentCoding": ("denied", "the response is encoded"),
    "HttpRequestUriInvalid": ("invalid-input", "it is no URL that can be asked for"),
}
"""What the error codes of `wasi:http/types` mean to a graph."""
