"""Pulls and pushes with the client of the ORAS project for Python.

    oras_client.py pull HOST REFERENCE FOLDER            # prints the file that was written
    oras_client.py push HOST REFERENCE COMPONENT CONFIG  # with the media types of the CNCF's Wasm artifact
"""

import sys

import oras.client

command, host, reference, *rest = sys.argv[1:]
client = oras.client.OrasClient(hostname=host, insecure=True)
if command == "pull":
    (written,) = client.pull(target=reference, outdir=rest[0])
    print(written)
else:
    component, config = rest
    answer = client.push(
        target=reference,
        files=[f"{component}:application/wasm"],
        manifest_config=f"{config}:application/vnd.wasm.config.v0+json",
        disable_path_validation=True,
    )
    assert answer.status_code in (200, 201), answer
