"""Verifies, signs and reads with pycose and cbor2, for the tests beside it. Files are in the current directory. Each line of
standard input is an order; the answer is a line in JSON, `{"said": "..."}` or `{"refused": "..."}`.

    verify CERTIFICATE           `signed` by the key of a certificate in DER; writes `content`, and `x5bag` as CBOR
    sign KEY [CERTIFICATE...]    `content` by a key in PEM, with certificates in x5bag; writes `signed`
    fields                       says what `content` has, a line for each
"""

import json
import sys
from pathlib import Path

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pycose.algorithms import EdDSA, Es256, Es384
from pycose.headers import Algorithm, X5bag
from pycose.keys import EC2Key, OKPKey
from pycose.keys.curves import Ed25519, P256, P384
from pycose.messages import Sign1Message


def cose_key(public, private=None):
    """Returns an algorithm, and a key that verifies, or signs if the private key is there."""
    if isinstance(public, ec.EllipticCurvePublicKey):
        length = (public.curve.key_size + 7) // 8
        curve, algorithm = {32: (P256, Es256), 48: (P384, Es384)}[length]
        numbers = public.public_numbers()
        x, y = (number.to_bytes(length, "big") for number in (numbers.x, numbers.y))
        d = private.private_numbers().private_value.to_bytes(length, "big") if private else b""
        return algorithm, EC2Key(crv=curve, x=x, y=y, d=d)
    raw = serialization.Encoding.Raw
    x = public.public_bytes(raw, serialization.PublicFormat.Raw)
    d = b""
    if private:
        d = private.private_bytes(raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    return EdDSA, OKPKey(crv=Ed25519, x=x, d=d)


def verify(certificate):
    public = x509.load_der_x509_certificate(Path(certificate).read_bytes()).public_key()
    algorithm, key = cose_key(public)
    message = Sign1Message.decode(Path("signed").read_bytes())
    assert message.phdr == {Algorithm: algorithm}, message.phdr
    message.key = key
    if not message.verify_signature():
        raise ValueError("the signature is wrong")
    Path("content").write_bytes(message.payload)
    Path("x5bag").write_bytes(cbor2.dumps(message.uhdr.get(X5bag)))


def sign(key, *certificates):
    private = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    algorithm, key = cose_key(private.public_key(), private)
    bag = [Path(certificate).read_bytes() for certificate in certificates]
    unprotected = {X5bag: bag[0] if len(bag) == 1 else bag} if bag else {}
    content = Path("content").read_bytes()
    message = Sign1Message(phdr={Algorithm: algorithm}, uhdr=unprotected, payload=content)
    message.key = key
    Path("signed").write_bytes(message.encode())


def fields():
    [(container, fields)] = cbor2.loads(Path("content").read_bytes()).items()
    return "".join(f"{container} {key} {value.hex() if isinstance(value, bytes) else value}\n" for key, value in fields.items())


ORDERS = {"verify": verify, "sign": sign, "fields": fields}

for line in sys.stdin:
    order, *arguments = line.split()
    try:
        answer = {"said": ORDERS[order](*arguments) or ""}
    except Exception as error:
        answer = {"refused": repr(error)}
    print(json.dumps(answer), flush=True)
