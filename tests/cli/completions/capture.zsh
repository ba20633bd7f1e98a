zmodload zsh/zpty || exit 1
zpty shell zsh -f -i
() {
    zpty -w shell "source $1"
    # Until it is ready.
    repeat 4; do zpty -r shell line; [[ $line == ready* ]] && break; done
    zpty -w -n shell "$2"$'\t'
    integer marks=0
    while zpty -r shell line; do
        if [[ $line == *$'\0'* ]]; then (( marks++ )) && break; continue; fi
        (( marks )) && print -r -- ${line%$'\r\n'}
    done
} "$1" "$2"
