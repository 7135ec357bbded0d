package db

import "strings"

var like = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// EscapeLike takes the special meaning from a search text's % and _, for LIKE
// and ILIKE.
func EscapeLike(s string) string { return like.Replace(s) }
