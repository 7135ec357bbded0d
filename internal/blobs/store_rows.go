package blobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// maxReferrers is how many of those that refer to a blob are checked.
const maxReferrers = 1000

// stored are bytes as their row describes them.
type stored struct {
	id        ids.ID
	store     string
	digests   []byte
	key       *int // nil where they are not sealed
	sealedKey []byte
}

// holdsSecretsTx reports whether an agent holds a job with secret inputs.
func holdsSecretsTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (bool, error) {
	if who.Kind != tenancy.KindAgent {
		return false, nil
	}
	return q.BlobSeals(ctx, tx, who.Workspace, who.Agent)
}

// beginTx adds bytes that are to be uploaded.
func beginTx(ctx context.Context, tx db.Tx, workspace ids.ID, of stored) error {
	if err := q.BlobRoomOpen(ctx, tx, workspace); err != nil {
		return err
	}
	return q.BlobDataInsert(ctx, tx, dbsqlc.BlobDataInsertParams{WorkspaceID: workspace, ID: of.id, Store: of.store, KeyID: of.key,
		SealedKey: of.sealedKey, Seconds: uploadLife.Seconds()})
}

// growTx counts more bytes of an upload, of which a workspace has at most a total.
func growTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, bytes, most int64) error {
	n, err := q.BlobDataGrow(ctx, tx, bytes, uploadLife.Seconds(), workspace, id)
	if err != nil {
		return err
	}
	if n == 0 {
		return expired()
	}
	n, err = q.BlobRoomTake(ctx, tx, bytes, workspace, most)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.StorageFull, "The workspace's blobs may have %d MB in all, and there is no room left. "+
			"Delete jobs that nobody needs; what they named goes a day later.", most>>20).With("max_bytes", most)
	}
	return nil
}

func expired() error {
	return fault.New(fault.Unavailable, "The upload stood still for too long. Send it again.")
}

// keepTx ends an upload with its bytes kept.
func keepTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, size int64, digests []byte) error {
	n, err := q.BlobDataKeep(ctx, tx, size, digests, workspace, id)
	if err != nil {
		return err
	}
	if n == 0 {
		return expired()
	}
	return nil
}

// dropTx gives up bytes that no blob names, after a while, and their space at once.
func dropTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, after time.Duration) error {
	counted, err := q.BlobDataDrop(ctx, tx, after.Seconds(), workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // collected already
	}
	if err != nil {
		return err
	}
	return giveTx(ctx, tx, workspace, counted)
}

func giveTx(ctx context.Context, tx db.Tx, workspace ids.ID, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return q.BlobRoomGive(ctx, tx, bytes, workspace)
}

// nameTx names bytes, or returns those that have the name and what is wrong with them.
func nameTx(ctx context.Context, tx db.Tx, who tenancy.Principal, b Blob, id ids.ID) (dbsqlc.BlobNameRow, error) {
	return q.BlobName(ctx, tx, dbsqlc.BlobNameParams{WorkspaceID: who.Workspace, Sha256: b.Sum[:], DataID: id, Size: b.Size,
		PutBy: who.Name})
}

// rememberTx notes that an agent has put a content.
func rememberTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum) error {
	if who.Kind != tenancy.KindAgent {
		return nil
	}
	return q.BlobPutterSave(ctx, tx, who.Workspace, sum[:], who.Agent)
}

// getTx reads a blob and where its bytes are. NotFound.
func getTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum) (b Blob, of stored, isPutter bool, err error) {
	row, err := q.BlobGet(ctx, tx, who.Agent, who.Workspace, sum[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return Blob{}, stored{}, false, notFound()
	}
	if err != nil {
		return Blob{}, stored{}, false, err
	}
	return Blob{Sum: sum, Size: row.Size, CreatedAt: row.CreatedAt},
		stored{id: row.DataID, store: row.Store, digests: row.Digests, key: row.KeyID, sealedKey: row.SealedKey}, row.PutByAgent, nil
}

// lockTx keeps a blob from being collected until the transaction ends. NotFound.
func lockTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum) (isPutter bool, err error) {
	isPutter, err = q.BlobLock(ctx, tx, who.Agent, who.Workspace, sum[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return false, notFound()
	}
	if err != nil {
		return false, err
	}
	return isPutter, nil
}

// referrersTx lists what refers to a blob, the newest first.
func referrersTx(ctx context.Context, tx db.Tx, workspace ids.ID, sum Sum) (jobs, messages []ids.ID, err error) {
	rows, err := q.BlobRefs(ctx, tx, workspace, sum[:], maxReferrers)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if r.JobID != nil {
			jobs = append(jobs, *r.JobID)
		} else {
			messages = append(messages, *r.MessageID)
		}
	}
	return jobs, messages, nil
}

func insertRefTx(ctx context.Context, tx db.Tx, workspace ids.ID, sum Sum, by Ref) error {
	return q.BlobRefInsert(ctx, tx, dbsqlc.BlobRefInsertParams{WorkspaceID: workspace, Sha256: sum[:], JobID: orNil(by.Job),
		MessageID: orNil(by.Message), ArchiveID: orNil(by.Archive)})
}

func orNil(id ids.ID) *ids.ID {
	if id == ids.Nil {
		return nil
	}
	return &id
}

// sizesTx reads how many bytes blobs have.
func sizesTx(ctx context.Context, tx db.Tx, workspace ids.ID, sums []Sum) (map[Sum]int64, error) {
	list := make([][]byte, 0, len(sums))
	for _, sum := range sums {
		list = append(list, sum[:])
	}
	rows, err := q.BlobSizes(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	sizes := make(map[Sum]int64, len(rows))
	for _, r := range rows {
		sizes[Sum(r.Sha256)] = r.Size
	}
	return sizes, nil
}
