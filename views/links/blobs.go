package links

import "net/url"

// Blob returns the download of a blob by its SHA-256.
func Blob(sum string) string { return "/blobs/" + url.PathEscape(sum) }
