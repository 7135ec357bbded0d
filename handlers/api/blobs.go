package api

import (
	"context"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/internal/blobs"
)

// blobHandlers carry contents in and out.
type blobHandlers struct{ *Deps }

// PutBlob stores the body.
func (s *blobHandlers) PutBlob(ctx context.Context, r PutBlobRequestObject) (PutBlobResponseObject, error) {
	t := callFrom(ctx).transfer
	if most := s.Blobs.MaxSize(); t.request.ContentLength > most {
		return nil, blobs.TooLarge(most)
	}
	b, created, err := s.Blobs.Put(ctx, principal(ctx), t.body(r.Body))
	if err != nil {
		return nil, err
	}
	said := Blob{Sha256: b.Sum.String(), Size: b.Size}
	if created {
		return PutBlob201JSONResponse(said), nil
	}
	return PutBlob200JSONResponse(said), nil
}

// GetBlob sends a blob, or ranges of it.
func (s *blobHandlers) GetBlob(ctx context.Context, r GetBlobRequestObject) (GetBlobResponseObject, error) {
	return s.open(ctx, r.Blob)
}

// HeadBlob sends what GetBlob does without the bytes.
func (s *blobHandlers) HeadBlob(ctx context.Context, r HeadBlobRequestObject) (HeadBlobResponseObject, error) {
	return s.open(ctx, r.Blob)
}

func (s *blobHandlers) open(ctx context.Context, name string) (*blobContent, error) {
	sum, err := blobs.ParseSum(name)
	if err != nil {
		return nil, err
	}
	r, err := s.Blobs.Open(ctx, principal(ctx), sum)
	if err != nil {
		return nil, err
	}
	return &blobContent{transfer: callFrom(ctx).transfer, reader: r}, nil
}

// blobContent is the answer with a blob.
type blobContent struct {
	*transfer
	reader *blobs.Reader
}

// VisitGetBlobResponse sends what the request's Range selects. A damaged blob ends
// before the bytes that are wrong: the connection is closed then, and the answer shorter
// than it said.
func (b *blobContent) VisitGetBlobResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+b.reader.Sum.String()+`"`)
	h.Set("ETag", `"`+b.reader.Sum.String()+`"`)
	http.ServeContent(b.answer(w), b.request, "", time.Time{}, b.reader)
	return b.reader.Err()
}

// VisitHeadBlobResponse sends the header of a GET.
func (b *blobContent) VisitHeadBlobResponse(w http.ResponseWriter) error {
	return b.VisitGetBlobResponse(w)
}
