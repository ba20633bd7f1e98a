PROMPT=
autoload -Uz compinit
compinit -D -u
source <(graph-host completions zsh)
setopt rcexpandparam
bindkey '^I' complete-word
null-line() { print -rn -- $'\0\n' }
compprefuncs=(null-line)
comppostfuncs=(null-line exit)
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits
    builtin compadd -A hits "$@"
    (( $#hits )) && print -rl -- $hits
}
stty -onlcr -echo
print ready
