# Where BoringSSL's runner calls what stands in terse.go.
/^func (c \*Conn) readDTLS13RecordHeader(/a\
	return c.readUnifiedHeader(epoch, b)
/^	case recordTypeACK:$/a\
		if typ != want \&\& c.isDTLS {\
			if err := c.readEarlyACK(data); err != nil {\
				return c.in.setErrorLocked(err)\
			}\
			goto Again\
		}
