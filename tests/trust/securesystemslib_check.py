"""Signs and verifies component envelopes with securesystemslib, which shares no code with graph-host.

securesystemslib_check.py sign PRIVATE-PEM ITEM-ID FILE.wasm     writes FILE.wasm and FILE.wasm.dsse.json
securesystemslib_check.py verify FILE.wasm PUBLIC-PEM…           every key must have signed the envelope
"""

import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

# The smallest component there is: the preamble, and a custom section.
COMPONENT = b"\0asm\x0d\x00\x01\x00" + b"\x00\x06\x04test!"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def statement(item: str) -> dict:
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": item, "digest": {"sha256": hashlib.sha256(COMPONENT).hexdigest()}}],
        "predicateType": "https://graph-host.dev/component/v1",
        "predicate": {
            "id": item,
            "version": "1.0.0",
            "world": "graph-host:node/node@0.1.0",
            "interfaces": [],
            "description": {"summary": "Does nothing", "params": {}, "result": {}, "interfaces": []},
            "ceiling": {"kinds": ["log"]},
        },
    }


def sign(private: str, item: str, file: str) -> None:
    signer = CryptoSigner(load_pem_private_key(pathlib.Path(private).read_bytes(), None))
    payload = json.dumps(statement(item)).encode()
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    pathlib.Path(file).write_bytes(COMPONENT)
    pathlib.Path(file + ".dsse.json").write_text(json.dumps(envelope.to_dict()))


def verify(file: str, publics: list[str]) -> None:
    assert publics, "no key to verify with"
    envelope = Envelope.from_dict(json.loads(pathlib.Path(file + ".dsse.json").read_text()))
    keys = [SSlibKey.from_crypto(load_pem_public_key(pathlib.Path(key).read_bytes())) for key in publics]
    verified = envelope.verify(keys, len(keys))
    assert set(verified) == {key.keyid for key in keys}, "another key than expected"
    assert envelope.payload_type == PAYLOAD_TYPE, envelope.payload_type
    stated = json.loads(envelope.payload)
    digest = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
    [subject] = stated["subject"]
    assert subject["digest"] == {"sha256": digest}, "the statement is about other bytes"
    assert stated["_type"] == "https://in-toto.io/Statement/v1", stated["_type"]
    assert stated["predicate"]["id"] == subject["name"], subject["name"]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sign", private, item, file]:
            sign(private, item, file)
        case ["verify", file, *publics]:
            verify(file, publics)
        case _:
            sys.exit(__doc__)
