# The same round trip with a registry that has the referrers API (OCI distribution 1.1): signatures are found through it, and
# no tag lists them. Sourced by `run`, after `clients.sh`.

if crate_program ferro-oci-server 1.0.0; then
    echo "== a registry with the referrers API"
    port=$(free_port)
    mkdir "$scratch/ferro"
    FERRO_OCI_LISTEN=127.0.0.1:$port FERRO_OCI_STORAGE_DIR=$scratch/ferro RUST_LOG=error "$found" >"$scratch/ferro.log" 2>&1 &
    servers+=($!)
    wait_for_port "$port"
    there=127.0.0.1:$port
    published=$("$graph_host" publish examples/flow --with-items "oci://$there/team" --trust "$trust" --json)
    [ "$(value '["published"][0]["manifest"]' <<<"$published")" = "$manifest" ] ||
        fail "the same item has another digest in another registry"
    listed=$(python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' \
        "http://$there/v2/team/examples/$name/referrers/$manifest?artifactType=application/vnd.dsse.envelope.v1%2Bjson")
    [ "$(value '["manifests"].__len__()' <<<"$listed")" = 1 ] || fail "the registry does not list the signature as a referrer: $listed"
    if skopeo list-tags --tls-verify=false "docker://$there/team/examples/$name" | grep -q sha256-; then
        fail "the signature has a tag, though the registry lists referrers"
    fi
    [ "$(skopeo inspect --raw --tls-verify=false "docker://$there/team/examples/$name:$version" | sha256sum | cut -d' ' -f1)" = "${manifest#sha256:}" ] ||
        fail "skopeo sees another manifest than the one that was published"
    [ "$(pulled_runs "oci://$there/team/examples/flow:1.0.0")" = 1 ] || fail "what was pulled by the referrers API does not run"
    [ "$("$graph_host" search "oci://$there" --json | value '["items"].__len__()')" = 2 ] || fail "search does not list the two items"
    again=$("$graph_host" publish "examples/$name" "oci://$there/team" --trust "$trust" --json)
    [ "$(value '["published"][0]["was_there"]' <<<"$again")" = True ] || fail "it was published a second time"
    # A registry that lists no referrers for it is believed, and what it holds is unsigned.
    skopeo_copy "docker://$there/team/examples/$name:$version" "docker://$there/bare/examples/$name:$version"
    code=0
    (cd "$scratch/elsewhere" && "$graph_host" pull "oci://$there/bare/examples/$name:$version" --trust "$trust" --no-lock 2>"$scratch/told") || code=$?
    [ "$code" = 8 ] && grep -q "is not signed" "$scratch/told" || fail "what has no referrer was pulled: $code"
else
    echo "== skipped: the registry with the referrers API is built only with --full"
fi
