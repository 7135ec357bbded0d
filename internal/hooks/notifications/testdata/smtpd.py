"""Takes mails on a port with STARTTLS and AUTH, and prints each as a line of JSON.

Arguments: port, certificate, key, user, password; "tls" at the end is TLS from the start.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

port, certificate, key, user, password = sys.argv[1:6]
implicit = sys.argv[6:] == ["tls"]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("unknown"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "data": envelope.content.decode("utf-8", "replace"),
            "tls": implicit or session.ssl is not None,
            "login": bool(session.authenticated),
            "peer": "%s:%s" % session.peer[:2],
        }), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=data.login == user.encode() and data.password == password.encode())


async def serve():
    options = dict(hostname="mail", authenticator=authenticate, auth_required=True)
    if implicit:
        options.update(auth_require_tls=False)
    else:
        options.update(tls_context=context, require_starttls=True)
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(Handler(), **options), "127.0.0.1", int(port), ssl=context if implicit else None)
    print(json.dumps({"ready": True}), flush=True)
    await server.serve_forever()


asyncio.run(serve())
