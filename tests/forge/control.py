# SPDX-License-Identifier: Apache-2.0
"""What tests do with a stand-in: persons' actions, faults, the log and the state. README.md has it all."""

import json
import time

from bare import GitFailed
from shape import Answer
from world import LEVELS, Refused

ACTIONS = {}


def action(function):
    """Its name is that of the action; its arguments are the action's members."""
    ACTIONS[function.__name__.replace("_", "-")] = function
    return function


class Scene:
    """Who acts, and where."""

    def __init__(self, forge, words):
        self.forge, self.world = forge, forge.world
        name = words.pop("repository", None)
        self.repository = forge.world.repository(name)[0] if name else next(iter(forge.world.repositories), None)
        self.name = name
        login = words.pop("as", None)
        self.actor = self.world.user(login) if login else next((u for u in self.world.users.values() if not u.is_organization), None)

    def subject(self, number, pull):
        return self.world.issue(self.repository, pull or number, is_pull=True if pull else None)


def several(value):
    return [value] if isinstance(value, str) else list(value)


# ---- Accounts and repositories ----


@action
def user(scene, login, tokens=None, permission=None, association=None, bot=False):
    account = scene.world.add_user(login, tokens, is_bot=bot)
    if permission is not None:
        set_permission(scene, login, permission)
    if association is not None:
        scene.repository.associations[login.lower()] = association
    return {"id": account.id, "tokens": [token for token, owner in scene.world.tokens.items() if owner is account]}


def set_permission(scene, login, permission):
    if permission not in LEVELS:
        raise ValueError(f"permissions are {', '.join(LEVELS)}")
    scene.repository.permissions[login.lower()] = permission
    scene.world.version += 1


action(set_permission)


@action
def expire_token(scene, token):
    scene.world.expired.add(token)


@action
def renew_token(scene, token):
    scene.world.expired.discard(token)


@action
def create_repository(scene, files=None, branch="main"):
    owner, _, name = scene.name.rpartition("/")
    repository = scene.world.add_repository(owner, name, branch, files)
    for login, level in scene.forge.permissions.items():
        repository.permissions[login] = level
    return {"id": repository.id}


@action
def fork(scene, owner, name=None):
    """Owners administer their forks; nobody else may write there."""
    made = scene.world.fork(scene.repository, owner, name)
    return {"id": made.id, "repository": made.full_name}


@action
def set_repository(scene, protected=None, **values):
    """archived, private, has_issues, has_drafts, default_branch"""
    names = {"archived": "is_archived", "private": "is_private"}
    for name, value in values.items():
        if name not in ("archived", "private", "has_issues", "has_drafts", "default_branch"):
            raise ValueError(f"a repository has no {name}")
        setattr(scene.repository, names.get(name, name), value)
    if protected is not None:
        scene.repository.bare.protect(protected)
    scene.world.version += 1


@action
def rename_repository(scene, to):
    scene.world.rename(scene.repository, *to.rsplit("/", 1))


@action
def clock(scene, offset_s):
    scene.world.offset_s = float(offset_s)
    return {"time": scene.world.seconds()}


@action
def links(scene, host=None, by_number=True):
    """What addresses in answers begin with (None = the host that the request named), and how pages are linked."""
    scene.world.host, scene.world.links_by_number = host, by_number


@action
def webhook(scene, url, secret=""):
    """Tell that address of what happens to issues from now on."""
    scene.forge.webhooks.add(url, secret)


@action
def redeliver(scene, number):
    scene.forge.webhooks.redeliver(number)


@action
def visibility(scene, seconds):
    scene.world.visibility_s = float(seconds)


@action
def limits(scene, **values):
    scene.forge.shape.limits.set(**values)


@action
def features(scene, relations=None, makes_labels=None):
    """What this forge does not have: sub-issues and blockers, labels made by use."""
    scene.world.has_relations = scene.world.has_relations if relations is None else relations
    scene.world.makes_labels = scene.world.makes_labels if makes_labels is None else makes_labels


# ---- Issues ----


@action
def create_label(scene, label, color="ededed", description=None):
    return {"id": scene.world.add_label(scene.repository, label, color, description).id}


@action
def create_issue(scene, title="An issue", body=None, labels=(), assignees=(), count=1):
    """With `count` so many, with the number after the title."""
    made = []
    for _ in range(count):
        text = title if count == 1 else f"{title} {len(made) + 1}"
        for name in several(labels):
            if name.lower() not in scene.repository.labels:
                scene.world.add_label(scene.repository, name)
        made.append(scene.world.add_issue(scene.repository, scene.actor, text, body, several(labels), several(assignees)))
    return {"number": made[0].number, "id": made[0].id, "numbers": [each.number for each in made]}


@action
def edit_issue(scene, number=None, pull=None, title=None, body=None):
    scene.world.edit_issue(scene.subject(number, pull), scene.actor, title, body)


@action
def close(scene, number=None, pull=None, reason=None):
    scene.world.set_state(scene.subject(number, pull), scene.actor, "closed", reason)


@action
def reopen(scene, number=None, pull=None):
    scene.world.set_state(scene.subject(number, pull), scene.actor, "open")


@action
def label(scene, label, number=None, pull=None):
    for name in several(label):
        if name.lower() not in scene.repository.labels:
            scene.world.add_label(scene.repository, name)
        scene.world.put_labels(scene.subject(number, pull), scene.actor, [name])


@action
def unlabel(scene, label, number=None, pull=None):
    for name in several(label):
        scene.world.take_label(scene.subject(number, pull), scene.actor, name)


@action
def assign(scene, login, number=None, pull=None):
    scene.world.assign(scene.subject(number, pull), scene.actor, several(login))


@action
def unassign(scene, login, number=None, pull=None):
    scene.world.unassign(scene.subject(number, pull), scene.actor, several(login))


@action
def comment(scene, body, number=None, pull=None):
    return {"id": scene.world.add_comment(scene.subject(number, pull), scene.actor, body).id}


@action
def edit_comment(scene, id, body):
    issue, found = scene.world.find_comment(scene.repository, id)
    scene.world.edit_comment(issue, found, body)


@action
def delete_comment(scene, id):
    scene.world.delete_comment(*scene.world.find_comment(scene.repository, id))


@action
def lock(scene, number=None, pull=None):
    scene.world.lock_issue(scene.subject(number, pull), scene.actor, True)


@action
def unlock(scene, number=None, pull=None):
    scene.world.lock_issue(scene.subject(number, pull), scene.actor, False)


@action
def transfer(scene, number, to):
    target, _ = scene.world.repository(to)
    if target is None:
        raise ValueError(f"there is no repository {to}")
    return {"number": scene.world.transfer(scene.subject(number, None), scene.actor, target).number}


@action
def delete_issue(scene, number):
    scene.world.delete_issue(scene.subject(number, None))


@action
def sub_issue(scene, number, child):
    scene.world.relate(scene.subject(number, None), scene.subject(child, None))


@action
def block(scene, number, by):
    scene.world.block(scene.subject(number, None), scene.subject(by, None))


# ---- Code ----


@action
def push(scene, files, branch=None, message="A change\n", parent=None):
    """A commit on a branch, by force if there is a `parent` ("" = a new history)."""
    branch = branch or scene.repository.default_branch
    commit = scene.repository.bare.commit(branch, files, message, parent, scene.actor.login)
    scene.world.version += 1
    scene.world.settle_pulls(scene.repository, scene.actor)
    return {"commit": commit}


@action
def delete_branch(scene, branch):
    scene.world.remove_ref(scene.repository, f"refs/heads/{branch}")
    scene.world.settle_pulls(scene.repository, scene.actor)


@action
def delete_ref(scene, ref):
    scene.world.remove_ref(scene.repository, ref)


@action
def create_pull(scene, head, title="A pull request", base=None, body=None, draft=False, fork=None):
    """@param fork that has the branch"""
    base = base or scene.repository.default_branch
    source = scene.world.repository(fork)[0] if fork else None
    issue = scene.world.add_pull(scene.repository, scene.actor, title, head, base, body, draft, source)
    return {"number": issue.number}


@action
def ready(scene, pull):
    scene.world.make_ready(scene.subject(None, pull))


@action
def merge(scene, pull, method="merge"):
    """As a person does: a draft is made ready first."""
    ready(scene, pull)
    return {"commit": scene.world.merge_pull(scene.subject(None, pull), scene.actor, method)}


@action
def review(scene, pull, state="COMMENTED", body="", lines=()):
    """state: APPROVED, CHANGES_REQUESTED, COMMENTED; lines: [{path, line, body}]"""
    return {"id": scene.world.add_review(scene.subject(None, pull), scene.actor, state, body, lines).id}


def commit_of(scene, pull, commit, branch):
    return commit or (scene.world.head_of(scene.subject(None, pull)) if pull else scene.repository.bare.head(branch))


@action
def check(scene, name, pull=None, commit=None, branch=None, status="completed", conclusion="success", summary=""):
    where = commit_of(scene, pull, commit, branch)
    return {"id": scene.world.add_check(scene.repository, where, name, status, conclusion, summary)["id"]}


@action
def status(scene, context, state, pull=None, commit=None, branch=None, description=""):
    where = commit_of(scene, pull, commit, branch)
    return {"id": scene.world.add_status(scene.repository, where, context, state, description)["id"]}


# ---- The state ----


def shown_event(event):
    about = {key: getattr(value, "name", None) or getattr(value, "login", None) or value for key, value in event.about.items()}
    about.pop("review", None)
    return {"kind": event.kind, "actor": event.actor.login if event.actor else None, **about}


def shown_comment(comment):
    shown = {"id": comment.id, "author": comment.author.login, "body": comment.body}
    return shown | {"created": comment.created.timestamp(), "updated": comment.updated.timestamp()}


def shown_pull(world, issue):
    pull = issue.pull
    return {
        "head": pull.head, "fork": pull.source.full_name if pull.source is not issue.repository else None,
        "head_id": world.head_of(issue), "base": pull.base, "draft": issue.is_draft,
        "merged": bool(pull.merged), "merge_commit": pull.merge_id,
        "reviews": [{"author": each.author.login, "state": each.state, "body": each.body} for each in pull.reviews],
    }  # fmt: skip


def shown_issue(world, issue):
    shown = {
        "number": issue.number, "id": issue.id, "title": issue.title, "body": issue.body, "author": issue.author.login,
        "state": issue.state, "state_reason": issue.state_reason, "locked": issue.is_locked,
        "labels": [label.name for label in issue.labels], "assignees": [each.login for each in issue.assignees],
        "comments": [shown_comment(each) for each in issue.comments],
        "events": [shown_event(each) for each in issue.events], "deleted": issue.is_deleted,
        "children": [each.number for each in issue.children], "blocked_by": [each.number for each in issue.blockers],
        "moved_to": f"{issue.moved.repository.full_name}#{issue.moved.number}" if issue.moved else None,
    }  # fmt: skip
    return shown | ({"pull": shown_pull(world, issue)} if issue.pull else {})


def shown_repository(world, repository):
    issues = [each for each in repository.issues.values() if not each.pull]
    return {
        "id": repository.id, "parent": repository.parent.full_name if repository.parent else None,
        "archived": repository.is_archived, "private": repository.is_private,
        "default_branch": repository.default_branch, "refs": repository.bare.refs(), "permissions": repository.permissions,
        "labels": [{"name": each.name, "color": each.color, "description": each.description} for each in repository.labels.values()],
        "issues": [shown_issue(world, each) for each in issues],
        "pulls": [shown_issue(world, each) for each in repository.pulls.values()],
    }  # fmt: skip


def shown(forge):
    world = forge.world
    return {
        "kind": forge.kind, "time": world.seconds(), "version": world.version,
        "users": [each.login for each in world.users.values() if not each.is_organization],
        "repositories": {each.full_name: shown_repository(world, each) for each in world.repositories},
        "faults": shown_faults(forge),
    }  # fmt: skip


def shown_faults(forge):
    return [{"id": each.id, **each.rule, "hits": each.hits, "left": each.left} for each in forge.faults.rules]


class Control:
    def __init__(self, forge):
        self.forge = forge

    def answer(self, request):
        name = request.path.removeprefix("/_control/")
        if name == "wait":
            return self.wait(request)
        try:
            with self.forge.world.lock:
                return self.carry_out(request, request.method, name)
        except (Refused, GitFailed, ValueError, TypeError, KeyError, AttributeError) as error:
            return Answer(400, {"error": f"{type(error).__name__}: {error}"})

    def carry_out(self, request, method, name):
        forge = self.forge
        if (method, name) == ("GET", "state"):
            return Answer(200, shown(forge))
        if (method, name) == ("POST", "act"):
            body = json.loads(request.data)
            results = [self.act(words) for words in (body if isinstance(body, list) else [body])]
            return Answer(200, results if isinstance(body, list) else results[0])
        if (method, name) == ("GET", "deliveries"):
            return Answer(200, forge.webhooks.deliveries)
        if name == "faults":
            return Answer(200, self.change_faults(request, method))
        if name == "log":
            first = int(request.one("after", "0"))
            entries = [entry for entry in forge.log.entries if entry["number"] > first]
            if method == "DELETE":
                forge.log.clear()
            return Answer(200, entries)
        return Answer(404, {"error": f"there is no {method} /_control/{name}"})

    def act(self, words):
        words = dict(words)
        name = words.pop("do", None)
        if name not in ACTIONS:
            raise ValueError(f"no action is {name}; there are {', '.join(ACTIONS)}")
        return ACTIONS[name](Scene(self.forge, words), **words) or {}

    def change_faults(self, request, method):
        faults = self.forge.faults
        if method == "DELETE":
            faults.clear()
        elif method == "POST":
            rules = json.loads(request.data)
            return {"ids": [faults.add(rule) for rule in (rules if isinstance(rules, list) else [rules])]}
        return shown_faults(self.forge)

    def wait(self, request):
        """Until the state has another version than that, or the log more entries; or `seconds` are over."""
        version, entries = int(request.one("version", "-1")), int(request.one("log", "-1"))
        limit = time.monotonic() + float(request.one("seconds", "10"))
        world, log = self.forge.world, self.forge.log
        while time.monotonic() < limit and not self.forge.closed.is_set():
            if world.version > version >= 0 or log.count > entries >= 0:
                break
            time.sleep(0.01)
        return Answer(200, {"version": world.version, "log": log.count})
