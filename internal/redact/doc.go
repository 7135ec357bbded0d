// Package redact takes secret values out of texts, however programs usually write
// them: quoted, escaped, encoded or wrapped. It knows nothing of where a value or a
// text comes from.
package redact
