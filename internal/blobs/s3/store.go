package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// partSize is how many bytes one part of an upload has: the least that S3 takes. Each
	// upload holds one in memory.
	partSize = 5 << 20
	// maxTries is how often a request is sent that the store does not answer.
	maxTries = 3

	// forbidden is the status of a request that the credentials do not allow.
	forbidden = 403

	// rangeNotSatisfiable is the status of a range that begins behind the end.
	rangeNotSatisfiable = 416

	defaultEndpoint = "https://s3.amazonaws.com"
)

// Credentials are an access key; the zero value takes what the host has: the file of
// AWS's programs, or the role of the machine.
type Credentials struct{ AccessKey, SecretKey, SessionToken string }

// Store is a bucket, or a part of one.
type Store struct {
	core           minio.Core
	bucket, prefix string
}

// New returns the store at an address like s3://bucket/prefix?endpoint=https://host&region=r.
// Without an endpoint it is AWS's. No request is sent to it yet. The error says what is wrong
// with the address.
func New(address string, c Credentials) (*Store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil {
		return nil, errors.New("must be an address like s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1")
	}
	query := u.Query()
	for name := range query {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("its parameters are endpoint and region, not %s", name)
		}
	}
	at, err := url.Parse(query.Get("endpoint"))
	if query.Get("endpoint") == "" {
		at, err = url.Parse(defaultEndpoint)
	}
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "" {
		return nil, errors.New("its endpoint must be an address like https://s3.example.com")
	}
	core, err := minio.NewCore(at.Host, &minio.Options{Creds: c.provider(), Secure: at.Scheme == "https", Region: query.Get("region"),
		MaxRetries: maxTries})
	if err != nil {
		return nil, fmt.Errorf("its endpoint cannot be used: %w", err)
	}
	return &Store{core: *core, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}, nil
}

func (c Credentials) provider() *credentials.Credentials {
	if c.AccessKey != "" {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken)
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}})
}

// Name returns the store's name in rows.
func (*Store) Name() string { return "s3" }

func (s *Store) key(c blobs.Content) string {
	return path.Join(s.prefix, c.Workspace.String(), c.ID.String())
}

// Read returns pieces.
func (s *Store) Read(ctx context.Context, c blobs.Content, first, past int) ([][]byte, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(int64(first)*int64(c.PieceSize), int64(past)*int64(c.PieceSize)-1); err != nil {
		return nil, err
	}
	body, _, _, err := s.core.GetObject(ctx, s.bucket, s.key(c), o)
	switch said := minio.ToErrorResponse(err); {
	case said.Code == minio.NoSuchKey, said.StatusCode == rangeNotSatisfiable:
		return nil, nil // all of them are missing
	case err != nil:
		return nil, unavailable(err)
	}
	defer func() { _ = body.Close() }()
	pieces := make([][]byte, 0, past-first)
	for len(pieces) < past-first {
		piece := make([]byte, c.PieceSize)
		n, err := io.ReadFull(body, piece)
		if n > 0 {
			pieces = append(pieces, piece[:n])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break // the last one; one that should be longer does not have its digest
		}
		if err != nil {
			return nil, unavailable(err)
		}
	}
	return pieces, nil
}

// Remove deletes the object, and the parts of one that was never finished.
func (s *Store) Remove(ctx context.Context, c blobs.Content) error {
	if err := s.core.RemoveIncompleteUpload(ctx, s.bucket, s.key(c)); err != nil {
		return unavailable(err)
	}
	if err := s.core.RemoveObject(ctx, s.bucket, s.key(c), minio.RemoveObjectOptions{}); err != nil {
		return unavailable(err)
	}
	return nil
}

// Write begins an object.
func (s *Store) Write(c blobs.Content) blobs.Writer { return &writer{Store: s, key: s.key(c)} }

// writer gathers pieces to parts. A content of one part is written at once.
type writer struct {
	*Store
	key    string
	buffer []byte
	upload string // the store's id of the upload, "" before the first part
	parts  []minio.CompletePart
}

// Write adds pieces.
func (w *writer) Write(ctx context.Context, pieces [][]byte) error {
	for _, piece := range pieces {
		if len(w.buffer) >= partSize {
			if err := w.part(ctx); err != nil {
				return unavailable(err)
			}
		}
		w.buffer = append(w.buffer, piece...)
	}
	return nil
}

// part sends what was gathered.
func (w *writer) part(ctx context.Context) (err error) {
	if w.upload == "" {
		if w.upload, err = w.core.NewMultipartUpload(ctx, w.bucket, w.key, minio.PutObjectOptions{}); err != nil {
			return err
		}
	}
	number := len(w.parts) + 1
	made, err := w.core.PutObjectPart(ctx, w.bucket, w.key, w.upload, number, bytes.NewReader(w.buffer), int64(len(w.buffer)),
		minio.PutObjectPartOptions{})
	w.parts, w.buffer = append(w.parts, minio.CompletePart{PartNumber: number, ETag: made.ETag}), w.buffer[:0]
	return err
}

// Close ends the object. There is none for an empty content.
func (w *writer) Close(ctx context.Context) error {
	if err := w.end(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

func (w *writer) end(ctx context.Context) error {
	switch {
	case w.upload == "" && len(w.buffer) == 0:
		return nil
	case w.upload == "":
		_, err := w.core.PutObject(ctx, w.bucket, w.key, bytes.NewReader(w.buffer), int64(len(w.buffer)), "", "", minio.PutObjectOptions{})
		return err
	}
	if err := w.part(ctx); err != nil {
		return err
	}
	_, err := w.core.CompleteMultipartUpload(ctx, w.bucket, w.key, w.upload, w.parts, minio.PutObjectOptions{})
	return err
}

// unavailable is said of a store that does not do what is requested; the log has its words.
func unavailable(err error) error {
	return fault.Wrap(err, fault.Unavailable, "The store of blobs does not answer. Try again in a moment.")
}
