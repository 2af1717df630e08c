# SPDX-License-Identifier: Apache-2.0
"""A mail server for tests: IMAP and SMTP on local ports, good or hostile as it is told. Standard library only."""

import asyncio
import base64
import re
import ssl
import threading


class StandIn:
    """Both servers on one thread. Settings are members; `seen` has what clients sent."""

    def __init__(self, certificate=None):
        self.user = "ann@example.com"
        self.password = 'pass"word\\1'
        self.mails = []  # (uid, bytes)
        self.folders = [b'* LIST (\\HasNoChildren) "/" "INBOX"', b'* LIST () "/" Archive']
        self.greeting = b"* OK ready"
        self.answers = {}  # of IMAP, by command: bytes in place of the usual answer
        self.stalls = set()  # commands that are never answered
        self.seen = []
        self.sent = []  # (from, recipients, text)
        self.smtp = {}  # of SMTP, by verb: the reply; None = the connection is cut, "STALL" = none comes
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.ready.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)

        async def begin():
            imap = await asyncio.start_server(self.imap, "127.0.0.1", 0, limit=1 << 23, ssl=self.context)
            smtp = await asyncio.start_server(self.smtp_session, "127.0.0.1", 0, limit=1 << 23)
            self.imap_port = imap.sockets[0].getsockname()[1]
            self.smtp_port = smtp.sockets[0].getsockname()[1]
            self.servers = [imap, smtp]
            self.ready.set()

        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.run_until_complete(self.close())
        self.loop.close()

    async def close(self):
        for server in self.servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ---- IMAP

    async def imap(self, reader, writer):
        try:
            writer.write(self.greeting + b"\r\n")
            while True:
                line = await self.command(reader, writer)
                if line is None:
                    break
                self.seen.append(line)
                tag, _, rest = line.partition(b" ")
                name = rest.split(b" ")[0].upper()
                name = b" ".join(rest.split(b" ")[:2]).upper() if name == b"UID" else name
                if name.decode() in self.stalls:
                    await asyncio.sleep(60)
                answer = self.answers.get(name.decode())
                body = self.usual(name, rest) if answer is None else answer
                if body is None:
                    break
                writer.write(body.replace(b"TAG", tag))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def command(self, reader, writer):
        """A command with its literals in place."""
        line = await reader.readline()
        if not line:
            return None
        while match := re.search(rb"\{(\d+)\}\r\n$", line):
            writer.write(b"+ go on\r\n")
            line += await reader.readexactly(int(match[1])) + await reader.readline()
        return line.rstrip(b"\r\n")

    def usual(self, name, rest):
        if name == b"LOGIN":
            quoted = self.password.replace("\\", "\\\\").replace('"', '\\"')
            good = f'LOGIN "{self.user}" "{quoted}"'.encode()
            return b"TAG OK in\r\n" if rest == good else b"TAG NO " + rest + b"\r\n"
        if name == b"LIST":
            return b"".join(line + b"\r\n" for line in self.folders) + b"TAG OK\r\n"
        if name == b"UID SEARCH":
            found = self.mails
            if wanted := re.search(rb'Message-ID "(.*)"', rest):
                found = [one for one in found if wanted[1] in one[1]]
            numbers = b"".join(b" %d" % uid for uid, _ in found)
            return b"* SEARCH" + numbers + b"\r\nTAG OK\r\n"
        if name == b"UID FETCH":
            wanted = {int(one) for one in rest.split(b" ")[2].split(b",")}
            out = b""
            for uid, text in self.mails:
                if uid not in wanted:
                    continue
                if b"HEADER.FIELDS" in rest:
                    text = text.split(b"\r\n\r\n")[0] + b"\r\n\r\n"
                    item = b"BODY[HEADER.FIELDS (FROM SUBJECT DATE MESSAGE-ID)]"
                else:
                    item = b"RFC822.SIZE %d BODY[]<0>" % len(text)
                    text = text[: int(re.search(rb"<0\.(\d+)>", rest)[1])]
                out += b"* 1 FETCH (UID %d %s {%d}\r\n%s)\r\n" % (uid, item, len(text), text)
            return out + b"TAG OK\r\n"
        if name == b"LOGOUT":
            return b"* BYE\r\nTAG OK\r\n"
        return b"TAG OK\r\n"

    # ---- SMTP

    async def smtp_session(self, reader, writer):
        sender, recipients = None, []
        try:
            writer.write(b"220 ready\r\n")
            while line := await reader.readline():
                line = line.rstrip(b"\r\n").decode()
                verb = line.split(" ")[0].upper()
                reply = {"EHLO": "250-stand-in\r\n250 AUTH PLAIN LOGIN", "DATA": "354 go on"}.get(verb, "250 ok")
                reply = self.smtp.get(verb, reply)
                if reply is None:
                    break
                if verb == "AUTH":
                    mechanism, _, first = line[5:].partition(" ")
                    if not first:
                        writer.write(b"334 \r\n")
                        first = (await reader.readline()).decode().strip()
                    words = base64.b64decode(first).decode().split("\0")
                    good = words[-2:] == [self.user, self.password]
                    reply = "235 in" if good else f"535 no {words}"
                elif verb == "MAIL":
                    sender, recipients = re.search(r"<(.*?)>", line)[1], []
                elif verb == "RCPT":
                    recipients.append(re.search(r"<(.*?)>", line)[1])
                writer.write(reply.encode() + b"\r\n")
                if verb == "DATA" and reply.startswith("354"):
                    text = await reader.readuntil(b"\r\n.\r\n")
                    after = self.smtp.get(".", "250 queued")
                    if after is None:
                        break
                    self.sent.append((sender, recipients, text[:-3]))
                    if after == "STALL":
                        await asyncio.sleep(60)
                    writer.write(after.encode() + b"\r\n")
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
