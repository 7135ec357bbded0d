// Package blobs keeps contents that are too large for a row, by their SHA-256: results,
// checkpoints, patches, payloads of messages. A content is stored once in a workspace,
// whoever puts it.
//
// An upload is cut into pieces. Each is sealed where the one who puts it holds a job with
// secrets, and stored before the next one is read; no transaction is open meanwhile. The
// upload's bytes (blob_data) expire unless they get their name (blob) at the end. A read
// checks each piece against its digest, and a read of the whole the SHA-256.
//
// A blob lives while something refers to it (blob_ref), and for a grace after that.
// Collect removes what is over.
package blobs
