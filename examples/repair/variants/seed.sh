#!/bin/sh
# seed.sh DIR fixed|other: takes the shipped defects out of the project in DIR, and with `other`
# puts different ones in. Only for check.sh: the worker never sees this file.
set -eu

usage() {
    echo "usage: $0 DIR fixed|other" >&2
    exit 2
}

# Replaces the only place where `from` stands in the file by `to`, as plain text.
swap() {
    awk -v from="$2" -v to="$3" '
        {
            at = index($0, from)
            if (at > 0) {
                found++
                $0 = substr($0, 1, at - 1) to substr($0, at + length(from))
            }
            print
        }
        END {
            if (found != 1) {
                printf "%s: \"%s\" stands on %d lines, not on one\n", FILENAME, from, found > "/dev/stderr"
                exit 1
            }
        }' "$1" >"$1.new"
    mv "$1.new" "$1"
}

fix() {
    swap calc.h 'CALC_FUNCTION_COUNT = 9' 'CALC_FUNCTION_COUNT = 8'
    swap lexer.c "c - 'a' - 10" "c - 'a' + 10"
    swap functions.c 'arguments[i] >= best' 'arguments[i] < best'
    swap functions.c 'int total = 0' 'long total = 0'
    swap functions.c 'a < 0 && b < 0' 'a < 0 || b < 0'
    swap functions.c 'long i = 2; i < arguments' 'long i = 2; i <= arguments'
    swap functions.c '(root + 1) < arguments' '(root + 1) <= arguments'
    swap parser.c 'depth > CALC_MAX_DEPTH' 'depth >= CALC_MAX_DEPTH'
    swap parser.c 'value = 1 - parse_sign' 'value = 0 - parse_sign'
    swap parser.c "if (symbol = '*')" "if (symbol == '*')"
}

break_differently() {
    swap functions.c 'const long low = arguments' 'const long low == arguments'
    swap functions.c 'long rest = a % b' 'long rest = a / b'
    swap functions.c 'if (low > high)' 'if (low < high)'
    swap functions.c 'result *= base' 'result += base'
    swap functions.c 'min_arguments || count' 'min_arguments && count'
    swap lexer.c "c >= '0' && c <= '9'" "c >= '0' && c < '9'"
    swap lexer.c 'token->number * 16' 'token->number * 15'
    swap lexer.c 'if (length > CALC_MAX_NAME)' 'if (length >= CALC_MAX_NAME)'
    swap parser.c 'if (count == CALC_MAX_ARGUMENTS)' 'if (count = CALC_MAX_ARGUMENTS)'
    swap parser.c 'value -= parse_product' 'value += parse_product'
}

[ $# -eq 2 ] || usage
cd "$1/src"
case $2 in
fixed) fix ;;
other)
    fix
    break_differently
    ;;
*) usage ;;
esac
