package app

import (
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/blobs/s3"
)

// BlobConfig is where blobs are kept, and how many.
type BlobConfig struct {
	// URL is a store for the blobs, s3://bucket/prefix?endpoint=https://host&region=r;
	// empty keeps them in PostgreSQL.
	URL string `env:"FLEETBOARD_BLOBS_URL"`
	// MaxMB is the largest size of a blob, TotalMB that of all blobs of a workspace.
	MaxMB   int `env:"FLEETBOARD_BLOB_MAX" envDefault:"64"`
	TotalMB int `env:"FLEETBOARD_BLOBS_TOTAL" envDefault:"5120"`
	// AccessKey, SecretKey and SessionToken are what AWS's programs read too. Without them the
	// store uses the file of those programs, or the role of the machine.
	AccessKey    string `env:"AWS_ACCESS_KEY_ID"`
	SecretKey    string `env:"AWS_SECRET_ACCESS_KEY"`
	SessionToken string `env:"AWS_SESSION_TOKEN"`
}

// highestMaxMB and highestTotalMB are the highest values of MaxMB and TotalMB.
const (
	highestMaxMB   = 4096
	highestTotalMB = 100 << 20
)

func (c BlobConfig) check() error {
	var errs []error
	if c.MaxMB < 1 || c.MaxMB > highestMaxMB {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOB_MAX: must be a number of MB from 1 to %d", highestMaxMB))
	}
	if c.TotalMB < c.MaxMB || c.TotalMB > highestTotalMB {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOBS_TOTAL: must be a number of MB from FLEETBOARD_BLOB_MAX to %d", highestTotalMB))
	}
	if _, err := c.options(); err != nil {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOBS_URL: %w", err))
	}
	if c.URL != "" && (c.AccessKey == "") != (c.SecretKey == "") {
		errs = append(errs, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: set both or neither"))
	}
	return errors.Join(errs...)
}

// options returns the options of the service of blobs.
func (c BlobConfig) options() (blobs.Options, error) {
	o := blobs.Options{MaxSize: int64(c.MaxMB) << 20, MaxTotal: int64(c.TotalMB) << 20}
	if c.URL == "" {
		return o, nil
	}
	store, err := s3.New(c.URL, s3.Credentials{AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken})
	if err != nil {
		return o, err
	}
	o.Store = store
	return o, nil
}
