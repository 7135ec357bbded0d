package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/blobs/s3"
)

// BackupConfig is about backups.
type BackupConfig struct {
	// URL is where backups are: a directory, or s3://bucket/prefix?endpoint=https://host&region=r. A
	// server with an embedded database archives its log there and backs it up by the clock; empty is
	// neither.
	URL string `env:"FLEETBOARD_BACKUP_URL"`
	// Hours is the time from one backup to the next, Keep how many there are.
	Hours int `env:"FLEETBOARD_BACKUP_HOURS" envDefault:"24"`
	Keep  int `env:"FLEETBOARD_BACKUP_KEEP" envDefault:"7"`
	// PassphrasePath is a file with the passphrase under which the server's secret key is kept in
	// backups; without one it is left out of them.
	PassphrasePath string `env:"FLEETBOARD_BACKUP_PASSPHRASE_FILE"`
	// DatabaseURL is a login that reads all rows for a dump, past the policies; empty is DATABASE_URL.
	DatabaseURL string `env:"FLEETBOARD_BACKUP_DATABASE_URL"`
}

const (
	highestBackupHours = 24 * 31
	highestBackupKeep  = 1000
)

func (c BackupConfig) check() error {
	var errs []error
	if strings.HasSuffix(c.URL, ".tar") || c.URL != "" && !strings.HasPrefix(c.URL, "s3://") && !filepath.IsAbs(c.URL) {
		errs = append(errs, errors.New("FLEETBOARD_BACKUP_URL: must be the absolute path of a directory, "+
			"or an address like s3://bucket/prefix"))
	}
	if strings.HasPrefix(c.URL, "s3://") {
		if _, err := s3.NewObjects(c.URL, s3.Credentials{}); err != nil {
			errs = append(errs, fmt.Errorf("FLEETBOARD_BACKUP_URL: %w", err))
		}
	}
	if c.Hours < 1 || c.Hours > highestBackupHours {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BACKUP_HOURS: must be a number from 1 to %d", highestBackupHours))
	}
	if c.Keep < 1 || c.Keep > highestBackupKeep {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BACKUP_KEEP: must be a number from 1 to %d", highestBackupKeep))
	}
	if c.DatabaseURL != "" {
		if err := db.CheckAddress(c.DatabaseURL); err != nil {
			errs = append(errs, fmt.Errorf("FLEETBOARD_BACKUP_DATABASE_URL: %w", err))
		}
	}
	return errors.Join(errs...)
}

// passphrase reads the passphrase, "" where none is configured.
func (c BackupConfig) passphrase() (string, error) {
	if c.PassphrasePath == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.PassphrasePath)
	if err != nil {
		return "", fmt.Errorf("FLEETBOARD_BACKUP_PASSPHRASE_FILE: %w", err)
	}
	passphrase := strings.TrimSpace(string(text))
	if len(passphrase) < backup.MinPassphrase {
		return "", fmt.Errorf("FLEETBOARD_BACKUP_PASSPHRASE_FILE: the passphrase must have at least %d characters", backup.MinPassphrase)
	}
	return passphrase, nil
}

// backupAddress returns the address that a person names, else the configured one.
func (c Config) backupAddress(named string, dataDirs ...string) (backup.Address, error) {
	if named == "" {
		named = c.Backup.URL
	}
	if named == "" {
		return backup.Address{}, errors.New("name a directory, a file whose name ends in .tar or s3://bucket/prefix, " +
			"or set FLEETBOARD_BACKUP_URL")
	}
	return backup.Address{Text: named, DataDirs: dataDirs, Credentials: s3.Credentials{AccessKey: c.Blobs.AccessKey,
		SecretKey: c.Blobs.SecretKey, SessionToken: c.Blobs.SessionToken}}, nil
}

// every is the time from one backup to the next.
func (c BackupConfig) every() time.Duration { return time.Duration(c.Hours) * time.Hour }
