// SPDX-License-Identifier: Apache-2.0
// Storage for upgrades that must not allocate.

package dlbridge

// #include "bridge.h"
import "C"

import "sync"

// Storage is C's memory for one upgraded tensor at a time ([Legacy.UpgradeInto]). It may be used again
// after that tensor was released.
type Storage struct {
	mutex sync.Mutex
	room  *C.godl_storage
	busy  bool // An upgrade into it is in progress, without the mutex: deleters may run.
}

// StorageSize is the number of bytes that a tensor of ndim axes needs; 0 for an ndim below 0 or above
// [MaxNDim].
func StorageSize(ndim int32) int {
	return int(C.dlbridge_upgrade_storage_size(C.int32_t(ndim)))
}

// NewStorage allocates storage of size bytes; see [StorageSize].
func NewStorage(size int) (*Storage, error) {
	if size < 0 {
		return nil, invalid("size: expected at least 0; see StorageSize")
	}
	room := C.godl_storage_new(C.size_t(size))
	if room == nil {
		return nil, &Error{Status: StatusOutOfMemory, Axis: -1, Message: "no memory for the storage"}
	}
	return &Storage{room: room}, nil
}

// InUse reports whether a tensor lives in the storage.
func (s *Storage) InUse() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.room != nil && C.godl_storage_in_use(s.room) != 0
}

// Close ends the storage. A tensor that lives in it keeps the memory until it is released.
// Closing again does nothing. It always returns nil.
func (s *Storage) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.room != nil {
		C.godl_storage_drop(s.room, C.GODL_STORAGE_OWNED)
		s.room = nil
	}
	return nil
}

// begin claims the storage for one upgrade; end must follow.
func (s *Storage) begin() (*C.godl_storage, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.room == nil {
		return nil, ErrClosed
	}
	if s.busy || C.godl_storage_in_use(s.room) != 0 {
		return nil, ErrInUse
	}
	s.busy = true
	C.godl_storage_hold(s.room)
	return s.room, nil
}

func (s *Storage) end(room *C.godl_storage) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy = false
	C.godl_storage_drop(room, C.GODL_STORAGE_HELD)
}
