# SPDX-License-Identifier: Apache-2.0
"""Webhooks of the stand-in: what happens to issues is posted to an address, signed as each forge does it."""

import hashlib
import hmac
import json
import threading
import uuid

# Kinds of events of an issue, as GitHub names the actions; others are told of as "edited".
ACTIONS = {"labeled", "unlabeled", "assigned", "unassigned", "closed", "reopened", "transferred", "locked", "unlocked"}


def headers_of(kind, event, secret, data):
    digest = hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()
    number = str(uuid.uuid4())
    if kind == "gitlab":
        return {"X-Gitlab-Event": "Issue Hook", "X-Gitlab-Token": secret, "X-Gitlab-Event-UUID": number}
    if kind == "gitea":
        return {"X-Gitea-Event": event, "X-Gitea-Delivery": number, "X-Gitea-Signature": digest, "X-Forgejo-Signature": digest}
    return {"X-GitHub-Event": event, "X-GitHub-Delivery": number, "X-Hub-Signature-256": f"sha256={digest}"}


def payload_of(kind, event, action, issue, actor):
    """What a receiver needs to know what happened, in the shape of each; not all that the real ones have."""
    labels, place = [label.name for label in issue.labels], issue.repository
    if kind == "gitlab":
        about = {"iid": issue.number, "title": issue.title, "action": action, "state": issue.state}
        labels = [{"title": name} for name in labels]
        about |= {"labels": labels, "noteable_type": "Issue"}
        return {
            "object_kind": "note" if event == "issue_comment" else "merge_request" if event == "pull_request" else "issue",
            "object_attributes": about, "user": {"username": actor.login}, "project": {"path_with_namespace": place.full_name},
        }  # fmt: skip
    about = {"number": issue.number, "title": issue.title, "state": issue.state, "labels": [{"name": name} for name in labels]}
    name = "pull_request" if event == "pull_request" else "issue"
    return {"action": action, name: about, "repository": {"full_name": place.full_name}, "sender": {"login": actor.login}}


class Webhooks:
    """Addresses to tell, and what was sent to them."""

    def __init__(self, kind, world):
        self.kind, self.targets, self.deliveries = kind, [], []
        self.lock = threading.Lock()
        world.listeners.append(self.happened)

    def add(self, url, secret):
        self.targets.append((url, secret))

    def happened(self, issue, kind, actor):
        """Called with the world's lock: sending is for another thread."""
        event = "issue_comment" if kind == "commented" else "pull_request" if issue.pull else "issues"
        action = {"commented": "created", "merged": "closed"}.get(kind, kind if kind in ACTIONS | {"opened"} else "edited")
        for url, secret in self.targets:
            data = json.dumps(payload_of(self.kind, event, action, issue, actor)).encode()
            headers = {"Content-Type": "application/json"} | headers_of(self.kind, event, secret, data)
            threading.Thread(target=self.send, args=(url, headers, data), daemon=True).start()

    def send(self, url, headers, data):
        """Once, as forges do; nothing is repeated unless a test asks (`redeliver`)."""
        import urllib.request  # takes a while, and most tests have no webhooks

        request = urllib.request.Request(url, data, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                status = reply.status
        except OSError as error:
            status = getattr(error, "code", None)
        with self.lock:
            self.deliveries.append({"url": url, "headers": headers, "body": data.decode(), "status": status})

    def redeliver(self, number):
        row = self.deliveries[number]
        self.send(row["url"], row["headers"], row["body"].encode())
