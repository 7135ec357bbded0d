// Package s3 keeps the pieces of blobs in a bucket of an S3-compatible store: one object
// a content, <prefix>/<workspace>/<id>, with its pieces one after another.
package s3
