// This file is about choices that RFCs leave open, of which BoringSSL's runner accepts only BoringSSL's: some in DTLS 1.3, and
// which alert is sent. The runner's own functions call the functions here, where terse.sed changes them.

package runner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/crypto/cryptobyte"
)

// otherError is how the shim ends a test that BoringSSL ends with another error or alert.
type otherError struct {
	// Error is what the shim prints. If it is empty, the shim prints one of those that ErrorMap has for BoringSSL's error.
	Error string
	// LocalError is the runner's error, such as "remote error: " and an alert. If it is empty, it is the same as with BoringSSL.
	LocalError string
	// Reason says why the shim differs from BoringSSL.
	Reason string
}

// otherErrorOf finds the entry of the shim's TestErrorMap whose pattern matches the name of test.
func otherErrorOf(test *testCase) (found otherError) {
	number := 0
	for pattern, other := range shimConfig.TestErrorMap {
		if matched, err := filepath.Match(pattern, test.name); err != nil || matched {
			found = other
			number++
		}
	}
	if number > 1 {
		panic("several patterns of TestErrorMap match " + test.name)
	}
	return found
}

// expectedErrorsOf returns the errors that the shim may print.
func expectedErrorsOf(test *testCase) []string {
	if other := otherErrorOf(test); other.Error != "" {
		return []string{other.Error}
	}
	return translateExpectedError(test.expectedError)
}

// expectedLocalErrorOf returns the error that the runner itself is to see.
func expectedLocalErrorOf(test *testCase) string {
	if other := otherErrorOf(test); other.LocalError != "" {
		return other.LocalError
	}
	return test.expectedLocalError
}

// earlyReply is what the shim says to the early data that it accepted, once the handshake is done.
func earlyReply(config *Config, isResume bool) string {
	if !isResume || !config.Bugs.ExpectEarlyDataAccepted || len(config.Bugs.ExpectHalfRTTData) > 0 {
		return ""
	}
	reply := bytes.Join(config.Bugs.SendEarlyData, nil)
	for i := range reply {
		reply[i] ^= 0xff
	}
	return string(reply)
}

// takeUnifiedHeader reads the header of a protected record of DTLS 1.3, with a number of 8 or 16 bits and with a length
// or without (RFC 9147, 4). BoringSSL always sends 16 bits and a length, and its runner reads no other.
func (c *Conn) takeUnifiedHeader(epoch *epochState, record []byte) (headerLen int, recordLen int, typ recordType, err error) {
	const hasCID, hasLongNumber, hasLength = 0x10, 0x08, 0x04
	if len(record) == 0 || record[0]&0xe0 != 0x20 || record[0]&hasCID != 0 {
		return 0, 0, 0, errors.New("dtls: no unified header, or one with a connection ID")
	}
	first := record[0]
	if uint16(first&3) != epoch.epoch&3 {
		c.sendAlert(alertIllegalParameter)
		return 0, 0, 0, c.in.setErrorLocked(errors.New("dtls: a record of another epoch"))
	}
	numberLen := 1
	if first&hasLongNumber != 0 {
		numberLen = 2
	}
	headerLen = 1 + numberLen
	if first&hasLength != 0 {
		headerLen += 2
	}
	if len(record) < headerLen+16 {
		return 0, 0, 0, errors.New("dtls: a record that is too short")
	}
	recordLen = len(record) - headerLen
	if first&hasLength != 0 {
		recordLen = int(binary.BigEndian.Uint16(record[headerLen-2:]))
	}
	number := record[1 : 1+numberLen]
	if !c.config.Bugs.NullAllCiphers {
		xorSlice(number, epoch.recordNumberEncrypter.generateMask(record[headerLen:]))
	}
	// The shim's records arrive in order: each has a higher number than those before it.
	size := uint64(1) << (8 * numberLen)
	low := uint64(number[0])
	if numberLen == 2 {
		low = low<<8 | uint64(number[1])
	}
	const epochBits = 0xffff << 48 // epoch.seq begins with the epoch
	next := binary.BigEndian.Uint64(epoch.seq[:])
	full := next&^(size-1) | low
	if full < next {
		full += size
	}
	if full&epochBits != next&epochBits {
		return 0, 0, 0, errors.New("dtls: a number that is too high")
	}
	binary.BigEndian.PutUint64(epoch.seq[:], full)
	return headerLen, recordLen, 0, nil
}

// epochOfACK is the epoch of the next record, if it may be an ACK: after a KeyUpdate the shim has the keys before until its
// own was acknowledged.
func (c *Conn) epochOfACK(wanted *epochState) *epochState {
	if record := c.rawInput.Bytes(); c.handshakeComplete && len(record) > 0 && wanted.epoch > 0 &&
		record[0]&0xe0 == 0x20 && uint16(record[0]&3) == (wanted.epoch-1)&3 {
		if before, ok := c.in.getEpoch(wanted.epoch - 1); ok {
			return before
		}
	}
	return wanted
}

// takeACK takes an ACK, whenever it comes: RFC 9147 (7.1) recommends one as soon as something comes out of order, and
// after the handshake one for each record. BoringSSL sends none before a quarter of its timer has passed, and then one of
// all records that it remembers. This one must be of records that the shim took and has not acknowledged yet.
func (c *Conn) takeACK(data []byte) error {
	s := cryptobyte.String(data)
	var numbers cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&numbers) || !s.Empty() {
		return errors.New("dtls: a malformed ACK")
	}
	var last *DTLSRecordNumber
	for !numbers.Empty() {
		var number DTLSRecordNumber
		if !numbers.ReadUint64(&number.Epoch) || !numbers.ReadUint64(&number.Sequence) {
			return errors.New("dtls: a malformed ACK")
		}
		if last != nil && comparePair(last.Epoch, last.Sequence, number.Epoch, number.Sequence) >= 0 {
			return errors.New("dtls: an ACK that is not in order")
		}
		place := slices.Index(c.expectedACK, number)
		if place < 0 {
			return fmt.Errorf("dtls: an ACK of %+v, but expected are %+v", number, c.expectedACK)
		}
		forgotten := 0 // The shim remembers a limited number of records.
		if last == nil {
			forgotten = min(place, max(0, len(c.expectedACK)-shimConfig.MaxACKBuffer))
		}
		last = &number
		c.expectedACK = slices.Delete(slices.Clone(c.expectedACK), place, place+1)[forgotten:]
	}
	return nil
}

// forgetACK is called when the shim begins the next flight. After the handshake its flights answer nothing.
func (c *Conn) forgetACK() {
	if !c.handshakeComplete {
		c.expectedACK = nil
	}
}

// takeACKs reads ACKs until every expected record was acknowledged. All ACKs may have come before.
func (c *DTLSController) takeACKs(epoch uint16) {
	if c.flush() != nil {
		return
	}
	for c.err == nil && len(c.conn.expectedACK) > 0 {
		var typ recordType
		var data []byte
		typ, data, c.err = c.conn.dtlsDoReadRecord(c.getInEpochOrPanic(epoch), recordTypeACK)
		if c.err == nil && typ != recordTypeACK {
			c.err = fmt.Errorf("dtls: a record of type %d, where ACKs are expected of %+v", typ, c.conn.expectedACK)
		}
		if c.err == nil {
			c.err = c.conn.takeACK(data)
		}
	}
}

// takeEarlyACKs takes packets that came before time passed, which must be ACKs.
func (c *DTLSController) takeEarlyACKs(packets [][]byte) error {
	epoch := &c.conn.in.epoch
	for _, packet := range packets {
		if len(packet) == 0 || packet[0]&0xe0 != 0x20 || uint16(packet[0]&3) != epoch.epoch&3 || c.conn.rawInput.Len() > 0 {
			return fmt.Errorf("dtls: something was sent before time passed, and no ACK: %x", packet)
		}
		c.conn.rawInput.Write(packet)
		for c.conn.rawInput.Len() > 0 {
			typ, data, err := c.conn.dtlsDoReadRecord(epoch, recordTypeACK)
			if err != nil {
				return err
			}
			if typ != recordTypeACK {
				return fmt.Errorf("dtls: a record of type %d was sent before time passed", typ)
			}
			if err := c.conn.takeACK(data); err != nil {
				return err
			}
		}
	}
	return nil
}
