package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking/vault"
)

// What the installation's sealed columns are sealed for.
const (
	pepperContext   = "installation:pepper"
	keyCheckContext = "installation:key_check"
)

var keyCheckWord = []byte("slotkeeper")

type installationRow struct {
	ID        int `gorm:"primaryKey;autoIncrement:false"`
	Pepper    []byte
	KeyCheck  []byte
	CreatedAt stamp
	// NextKeyCheck is the word under the next key, while everything is sealed anew.
	NextKeyCheck []byte
}

func (installationRow) TableName() string { return "installation" }

// Installation proves that the vault's key is the one that the database was
// made with, and returns the pepper of e-mail keys (vault.EmailKey). The first
// call ever makes both. Call it before anything is opened or sealed: with the
// wrong key, new rows would be lost to the right one.
func (s *Store) Installation(ctx context.Context, now time.Time) (pepper []byte, err error) {
	var row installationRow
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		err := tx.Take(&row, 1).Error
		if !errors.Is(err, gorm.ErrRecordNotFound) {
			return err
		}
		made := installationRow{
			ID:        1,
			Pepper:    s.vault.Seal(vault.NewKey(), pepperContext),
			KeyCheck:  s.vault.Seal(keyCheckWord, keyCheckContext),
			CreatedAt: at(now),
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&made).Error; err != nil {
			return err
		}
		// Read back: another process that starts too may have been first.
		return tx.Take(&row, 1).Error
	})
	if err != nil {
		return nil, fmt.Errorf("store: the installation: %w", err)
	}
	if row.NextKeyCheck != nil {
		return nil, ErrRekeying
	}
	if _, err := s.vault.Open(row.KeyCheck, keyCheckContext); err != nil {
		return nil, wrongKey(err)
	}
	if pepper, err = s.vault.Open(row.Pepper, pepperContext); err != nil {
		return nil, wrongKey(err)
	}
	s.people.set(pepper)
	return pepper, nil
}

func wrongKey(err error) error {
	if errors.Is(err, vault.ErrWrongKey) {
		return fmt.Errorf("SLOTKEEPER_SECRET_KEY (or the key file in the data directory) is not the key that this database was made with; nothing was changed: %w", err)
	}
	return fmt.Errorf("the database's key check is damaged, or was copied from another database: %w", err)
}
