package links

import "net/url"

// Blob returns the download of a blob by its SHA-256.
func Blob(sum string) string { return "/blobs/" + url.PathEscape(sum) }

// BlobView returns where a blob is looked at: a picture or a text, as what it is.
func BlobView(sum string) string { return Blob(sum) + "/view" }
