# Registries that ask who is there: docker-registry with a file of passwords, and with tokens that it verifies itself. The
# credentials are where `docker login` leaves them (here skopeo), in a credential helper, or in the environment. Sourced by `run`.

for program in htpasswd:apache2-utils openssl:openssl; do
    command -v "${program%:*}" >/dev/null || { apt-get update -qq && apt-get install -y -qq "${program#*:}" >/dev/null; }
done
password='p w:"1'
rm -rf "$DOCKER_CONFIG"
mkdir -p "$DOCKER_CONFIG" "$scratch/passwords" "$scratch/tokens" "$scratch/bin"

# What a command may say about a refusal: neither the password nor its encoding.
refused() {
    local expected=$1 what=$2 told=$3 code=0
    shift 3
    "$@" 2>&1 | tr -s ' \n' ' ' >"$scratch/told" || code=$?
    [ "$code" = "$expected" ] || fail "$what ends with $code: $(cat "$scratch/told")"
    grep -qF -- "$told" "$scratch/told" || fail "$what is not explained with «$told»: $(cat "$scratch/told")"
    if grep -qF -e "$password" -e "$(printf '%s' "someone:$password" | base64)" "$scratch/told"; then
        fail "$what shows the password"
    fi
}
publish_to() { "$graph_host" publish "examples/$name" "oci://$1/team" --trust "$trust"; }
pull_from() {
    (
        cd "$scratch/elsewhere"
        rm -rf "$GRAPH_HOST_HOME/installed" "$GRAPH_HOST_HOME/pulled" graph-host.lock
        "$graph_host" pull "oci://$1/team/examples/$name:$version" --trust "$trust" "${@:2}" && cmp "$component" "$GRAPH_HOST_HOME/installed/tools/examples/$name.wasm"
    )
}

echo "== a registry with passwords: without one, with a wrong one, from the file of docker login, a helper and the environment"
htpasswd -Bbn someone "$password" >"$scratch/passwords/htpasswd"
at_of_others=$at registry_of_others=$registry
serve_registry "$scratch/passwords" "auth: { htpasswd: { realm: tests, path: $scratch/passwords/htpasswd } }"
servers+=("$registry")
private=$at
refused 4 "publishing without a password" "a name and a password" publish_to "$private"
export GRAPH_HOST_REGISTRY=$private GRAPH_HOST_REGISTRY_USERNAME=someone GRAPH_HOST_REGISTRY_PASSWORD="not-the-password"
refused 4 "publishing with a wrong password" "UNAUTHORIZED" publish_to "$private"
export GRAPH_HOST_REGISTRY_PASSWORD=$password
publish_to "$private" >/dev/null
pull_from "$private" >/dev/null
[ "$("$graph_host" search "oci://$private" --json | value '["items"].__len__()')" = 1 ] || fail "search does not list the item"
unset GRAPH_HOST_REGISTRY GRAPH_HOST_REGISTRY_USERNAME GRAPH_HOST_REGISTRY_PASSWORD
refused 4 "pulling without a password" "a name and a password" pull_from "$private"
skopeo login --authfile "$DOCKER_CONFIG/config.json" --tls-verify=false -u someone --password-stdin "$private" <<<"$password" >/dev/null
pull_from "$private" >/dev/null
cat >"$scratch/bin/docker-credential-tests" <<'END'
#!/bin/sh
read -r host
[ "$1" = get ] && cat "$(dirname "$0")/credentials-of-$host" 2>/dev/null || { echo "credentials not found in native keychain"; exit 1; }
END
chmod +x "$scratch/bin/docker-credential-tests"
python3 -c 'import json, sys; json.dump({"ServerURL": "", "Username": "someone", "Secret": sys.argv[1]}, sys.stdout)' "$password" \
    >"$scratch/bin/credentials-of-$private"
printf '{"credHelpers":{"%s":"tests"}}' "$private" >"$DOCKER_CONFIG/config.json"
PATH="$scratch/bin:$PATH" pull_from "$private" >/dev/null
mv "$scratch/bin/credentials-of-$private" "$scratch/bin/credentials-of-another"
PATH="$scratch/bin:$PATH" refused 4 "a helper without credentials" "a name and a password" pull_from "$private"

echo "== a registry that verifies tokens: the host that issues them is named, and sent nothing unless the user names it, too"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=tests -keyout "$scratch/tokens/key.pem" -out "$scratch/tokens/certificate.pem" 2>/dev/null
printf '%s' "$password" >"$scratch/tokens/password"
printf 'identity-%s' "$RANDOM" >"$scratch/tokens/identity"
realm=127.0.0.1:$(free_port)
python3 "$repository/tests/registry/token_server.py" "${realm#*:}" "$scratch/tokens" &
servers+=($!)
wait_for_port "${realm#*:}"
serve_registry "$scratch/tokens" "auth: { token: { realm: \"http://$realm/token\", service: \"the registry\", issuer: tests, rootcertbundle: $scratch/tokens/certificate.pem } }"
servers+=("$registry")
private=$at
rm "$DOCKER_CONFIG/config.json"
export GRAPH_HOST_REGISTRY=$private GRAPH_HOST_REGISTRY_USERNAME=someone GRAPH_HOST_REGISTRY_PASSWORD=$password
refused 4 "a token of a host that was not named" "$realm" publish_to "$private"
[ ! -e "$scratch/tokens/asked" ] || fail "a host that was not named was asked for a token"
export GRAPH_HOST_REGISTRY_TOKEN_REALM=$realm
publish_to "$private" >/dev/null
pull_from "$private" >/dev/null
grep -q "^GET repository:team/examples/$name:pull True" "$scratch/tokens/asked" || fail "no token for pulling alone was asked for"
grep -q "^GET repository:team/examples/$name:pull,push True\|^GET repository:team/examples/$name:push,pull True" "$scratch/tokens/asked" ||
    fail "no token for publishing was asked for"
[ "$("$graph_host" search "oci://$private" --json | value '["items"].__len__()')" = 1 ] || fail "search with tokens does not list the item"
grep -q '^GET registry:catalog:\* True' "$scratch/tokens/asked" || fail "no token for the catalog was asked for"
GRAPH_HOST_REGISTRY_PASSWORD=not-the-password refused 4 "a token for a wrong password" "who are you" pull_from "$private"
unset GRAPH_HOST_REGISTRY GRAPH_HOST_REGISTRY_USERNAME GRAPH_HOST_REGISTRY_PASSWORD
refused 4 "a token for nobody" "who are you" pull_from "$private"
printf '{"auths":{"%s":{"identitytoken":"%s"}}}' "$private" "$(cat "$scratch/tokens/identity")" >"$DOCKER_CONFIG/config.json"
pull_from "$private" >/dev/null
grep -q '^POST .* True' "$scratch/tokens/asked" || fail "the identity token was not exchanged"
# A token that somebody else has signed: the registry refuses it, which nobody here decides.
cp "$scratch/tokens/certificate.pem" "$scratch/tokens/of-the-registry.pem"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=tests -keyout "$scratch/tokens/key.pem" -out "$scratch/tokens/certificate.pem" 2>/dev/null
refused 4 "a token of another signer" "UNAUTHORIZED" pull_from "$private"
unset GRAPH_HOST_REGISTRY_TOKEN_REALM
rm -rf "$DOCKER_CONFIG"
at=$at_of_others registry=$registry_of_others
