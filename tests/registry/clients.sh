# Clients that nobody here wrote read what was published, and what they push is signed, published and run. Sourced by `run`.

# The path of a program of crates.io, in a variable of that name: one that is installed, or that `--full` builds here.
crate_program() {
    local program=$1 version=$2 tools
    tools=${CARGO_TARGET_DIR:-$repository/target}/registry-tools
    found=$(command -v "$program" || true)
    [ -n "$found" ] || found=$tools/$program-$version/bin/$program
    if ! [ -x "$found" ] && [ -n "${FULL:-}" ]; then
        echo "installing $program $version"
        # With debug assertions and without optimization: it is built once and used for a few requests.
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --profile dev --root "$tools/$program-$version" \
            --target-dir "$tools/build" "$program" --version "$version"
    fi
    [ -x "$found" ]
}

# Signs what another client has pushed, publishes it with a graph, and runs that where nothing of it is known.
signed_runs() {
    local component=$1 item=$2
    cp "$component" ".ai/tools/examples/$item.wasm"
    sed "s/\$name/$item/" >".ai/tools/examples/uses-$item.yaml" <<'END'
version: "1.0.0"
tool_type: graph
executor_id: graph-host
category: tests
description: echoes
config:
  start: a
  nodes:
    a: { action: { item_id: examples/$name, params: { op: echo, value: 1 } }, assign: { said: "${result}" } }
END
    "$graph_host" sign ".ai/tools/examples/$item.wasm" --key signer --version 2.0.0 >/dev/null
    "$graph_host" sign ".ai/tools/examples/uses-$item.yaml" --key signer >/dev/null
    "$graph_host" publish "examples/uses-$item" --with-items "oci://$at/signed" >/dev/null
    (
        cd "$scratch/elsewhere"
        rm -rf "$GRAPH_HOST_HOME/installed" "$GRAPH_HOST_HOME/pulled" graph-host.lock
        "$graph_host" pull "oci://$at/signed/examples/uses-$item:1.0.0" >/dev/null
        cmp "$component" "$GRAPH_HOST_HOME/installed/tools/examples/$item.wasm"
        "$graph_host" run "examples/uses-$item" --caps "$scratch/caps.yaml" --quiet --json | value '["output"]["said"]'
    )
}

# What another client has pushed is an artifact, but without a signature it is refused.
unsigned_is_refused() {
    local code=0
    (cd "$scratch/elsewhere" && "$graph_host" pull "$1" --no-lock 2>"$scratch/told") || code=$?
    [ "$code" = 8 ] && grep -q "is not signed" "$scratch/told" || fail "what $2 has pushed was pulled unsigned: $code"
}

"$graph_host" keys generate signer >/dev/null
"$graph_host" trust add signer --key signer --items "examples/by-*" --items "examples/uses-by-*" >/dev/null

echo "== oras for Python pulls the same bytes, and what it pushes runs once it is signed"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check 'oras==0.2.43'
oras() { "$scratch/venv/bin/python" "$repository/tests/registry/oras_client.py" "$@"; }
pulled=$(oras pull "$at" "$at/team/examples/$name:$version" "$scratch/by-oras")
cmp "$component" "$pulled" || fail "oras pulls other bytes"
printf '{"architecture":"wasm","os":"wasip2"}' >"$scratch/wasm-config.json"
oras push "$at" "$at/oras/plain:1.0.0" "$component" "$scratch/wasm-config.json"
unsigned_is_refused "oci://$at/oras/plain:1.0.0" oras
pulled=$(oras pull "$at" "$at/oras/plain:1.0.0" "$scratch/of-oras")
[ "$(signed_runs "$pulled" by-oras)" = 1 ] || fail "what oras has pushed does not run"

if crate_program wkg 0.16.1; then
    echo "== wkg pulls the same bytes, and what it pushes runs once it is signed"
    "$found" oci pull --insecure "$at" "$at/team/examples/$name:$version" -o "$scratch/by-wkg.wasm" >/dev/null
    cmp "$component" "$scratch/by-wkg.wasm" || fail "wkg pulls other bytes"
    "$found" oci push --insecure "$at" "$at/wkg/plain:1.0.0" "$component" >/dev/null
    unsigned_is_refused "oci://$at/wkg/plain:1.0.0" wkg
    "$found" oci pull --insecure "$at" "$at/wkg/plain:1.0.0" -o "$scratch/of-wkg.wasm" >/dev/null
    [ "$(signed_runs "$scratch/of-wkg.wasm" by-wkg)" = 1 ] || fail "what wkg has pushed does not run"
else
    echo "== skipped: wkg is not installed, and is built only with --full"
fi
