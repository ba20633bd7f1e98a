# Starts docker-registry on a port of loopback that is free, for the script that sources this: it stores below $1, and $registry is its
# process, $at its address. $2 is added to its configuration.
serve_registry() {
    local port
    if ! command -v docker-registry >/dev/null; then
        echo "installing docker-registry"
        apt-get update -qq && apt-get install -y -qq docker-registry >/dev/null
    fi
    port=$(free_port)
    cat >"$1/config.yml" <<END
version: 0.1
storage: { filesystem: { rootdirectory: $1/storage } }
http: { addr: "127.0.0.1:$port" }
log: { level: error }
${2:-}
END
    docker-registry serve "$1/config.yml" >"$1/registry.log" 2>&1 &
    registry=$!
    wait_for_port "$port"
    at="127.0.0.1:$port"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

wait_for_port() {
    for _ in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    echo "nothing listens on port $1" >&2
    return 1
}
