# Makes a name for a file out of a title.
printf '%s\n' "$1" | tr ' ' '-'
