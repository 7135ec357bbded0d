// Package fulltext cuts texts, and what people look for in them, into words by one rule, and
// writes both as PostgreSQL's full-text search reads them: a text as a tsvector, a query as a
// tsquery. It also finds what of a query stands in a text, by the same rule, for passages.
// PostgreSQL's own parser is not used: it keeps a path, a host or a version as one word that
// nobody finds by its parts (ADR 80).
package fulltext

const (
	// Scan is how many of the newest rows with the words are ranked.
	Scan = 500
	// eraRows is about how many rows with words an era has.
	eraRows = 5000
)

// Era is the era that a workspace writes words in, and how many rows it has. A search looks at
// the newest era first, so that what all rows have costs no more than one of them.
type Era struct{ Number, Filled int }

// After returns the era after further rows.
func (e Era) After(rows int) Era {
	if e.Filled += rows; e.Filled >= eraRows {
		return Era{Number: e.Number + 1}
	}
	return e
}
