# SPDX-License-Identifier: Apache-2.0
"""What a forge knows, in memory: accounts, repositories, labels, issues, comments, pull requests. No shape of an
API is in here; `github.py`, `gitea.py` and `gitlab.py` say it in theirs, `control.py` for tests.

Callers have the world's lock. Whatever is refused is a Refused.
"""

import datetime
import pathlib
import re
import threading
import time

from bare import NOBODY, Bare, GitFailed

LEVELS = ("none", "read", "triage", "write", "maintain", "admin")
# Above what 32 bits hold, as the ids of the largest forges are.
FIRST_ID = 5_000_000_001
CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.I)


class Refused(Exception):
    """The forge refuses. `code` is of GitHub's errors ("already_exists"), `field` what it is about."""

    def __init__(self, status, message, code=None, field=None, resource="Issue", headers=None):
        super().__init__(message)
        self.status, self.message = status, message
        self.code, self.field, self.resource = code, field, resource
        self.headers = headers or {}


class User:
    def __init__(self, number, login, is_organization=False, is_bot=False):
        self.id, self.login = number, login
        self.is_organization, self.is_bot = is_organization, is_bot


class Label:
    def __init__(self, number, name, color="ededed", description=None):
        self.id, self.name, self.color, self.description = number, name, color, description


class Comment:
    """Of an issue, or on a line of a pull request if it has a path."""

    def __init__(self, number, author, body, now):
        self.id, self.author, self.body = number, author, body
        self.created = self.updated = now
        self.visible_from = 0.0
        self.path = self.line = self.commit = self.review = None


class Event:
    def __init__(self, number, kind, actor, now, **about):
        self.id, self.kind, self.actor, self.created, self.about = number, kind, actor, now, about


class Review:
    def __init__(self, number, author, state, body, commit, now):
        self.id, self.author, self.state, self.body, self.commit, self.created = number, author, state, body, commit, now


class Pull:
    """What an issue has besides when it is a pull request."""

    def __init__(self, number, source, head, base, is_draft):
        self.id, self.source, self.head, self.base, self.is_draft = number, source, head, base, is_draft
        self.head_id = None  # frozen when it is closed
        self.base_id = None
        self.merged = self.merged_by = self.merge_id = None
        self.reviews, self.line_comments = [], []


class Issue:
    def __init__(self, repository, ids, number, author, title, body, now):
        self.repository, self.id, self.number = repository, ids, number
        self.author, self.title, self.body = author, title, body
        self.created = self.updated = now
        self.state, self.state_reason, self.closed, self.closed_by = "open", None, None, None
        self.labels, self.assignees, self.comments, self.events = [], [], [], []
        self.children, self.blockers, self.parent = [], [], None
        self.is_locked = self.is_deleted = False
        self.moved = None  # the issue that it is now, in another repository
        self.pull = None

    @property
    def is_draft(self):
        return self.pull.is_draft or self.title.lower().startswith(self.repository.draft_marks)

    def has(self, name):
        return any(label.name.lower() == name.lower() for label in self.labels)


class Repository:
    def __init__(self, number, owner, name, bare, branch, now):
        self.id, self.owner, self.name, self.bare, self.default_branch = number, owner, name, bare, branch
        self.former = []  # (owner, name) in lower case
        self.parent = None  # the repository that it was forked from
        self.permissions, self.associations = {}, {}
        self.is_private = self.is_archived = False
        self.has_issues = self.has_drafts = True
        self.draft_marks = ()  # beginnings of titles, in lower case
        self.labels, self.issues, self.pulls = {}, {}, {}
        self.checks, self.statuses = {}, {}
        self.created = self.updated = now

    @property
    def full_name(self):
        return f"{self.owner.login}/{self.name}"

    @property
    def root(self):
        """The first of its network of forks."""
        return self.parent.root if self.parent else self

    def level(self, user):
        """What an account may do; None = nobody in particular."""
        if user is self.owner:
            return "admin"
        by_default = "none" if self.is_private else "read"
        return self.permissions.get(user.login.lower(), by_default) if user else by_default

    def lets(self, user, level):
        return LEVELS.index(self.level(user)) >= LEVELS.index(level)

    def association(self, user):
        """As GitHub names it; an entry of `associations` decides before all else."""
        said = self.associations.get(user.login.lower())
        if said:
            return said
        if user is self.owner:
            return "OWNER"
        if self.lets(user, "triage"):
            return "MEMBER" if self.owner.is_organization else "COLLABORATOR"
        is_merged = any(issue.pull.merged and issue.author is user for issue in self.pulls.values())
        return "CONTRIBUTOR" if is_merged else "NONE"


class World:
    def __init__(self, folder, has_own_pull_numbers=False):
        self.folder = pathlib.Path(folder)
        self.lock = threading.RLock()
        self.has_own_pull_numbers = has_own_pull_numbers  # GitLab counts issues and merge requests apart
        self.version = 0  # counts changes
        self.listeners = []  # functions that are told of an issue, what happened to it, and who did it
        self.offset_s = 0.0  # of the forge's clock from this machine's
        self.visibility_s = 0.0  # a new comment is in lists only after so long
        self.host = None  # in links, instead of the one that a request named
        self.links_by_number = True  # pages of lists lead to the repository's number
        self.users, self.tokens, self.expired, self.repositories = {}, {}, set(), []
        self.last_id = FIRST_ID - 1
        self.makes_labels = True  # an unknown label is made when it is added
        self.has_relations = True
        self.draft_marks = ()

    # ---- Time and ids ----

    def seconds(self):
        return time.time() + self.offset_s

    def now(self):
        moment = datetime.datetime.fromtimestamp(int(self.seconds()), datetime.timezone.utc)
        return moment

    def next_id(self):
        self.version += 1
        self.last_id += 1
        return self.last_id

    def touch(self, issue):
        self.version += 1
        issue.updated = self.now()

    # ---- Accounts ----

    def add_user(self, login, tokens=None, is_organization=False, is_bot=False):
        user = self.users.get(login.lower())
        if user is None:
            user = self.users[login.lower()] = User(self.next_id(), login, is_organization, is_bot)
        for token in [f"token-{login}"] if tokens is None else tokens:
            self.tokens[token] = user
        return user

    def user(self, login):
        user = self.users.get(login.lower())
        if user is None:
            raise Refused(404, f"There is no account {login}")
        return user

    # ---- Repositories ----

    def add_repository(self, owner, name, branch="main", files=None):
        """@param files of its first commit; None = README.md, {} = an empty repository"""
        if any(each.full_name.lower() == f"{owner}/{name}".lower() for each in self.repositories):
            raise Refused(422, "name already exists on this account", "custom", "name", "Repository")
        account = self.users.get(owner.lower()) or self.add_user(owner, [], is_organization=True)
        number = self.next_id()
        bare = Bare(self.folder / f"{number}.git", branch)
        repository = Repository(number, account, name, bare, branch, self.now())
        repository.draft_marks = self.draft_marks
        files = {"README.md": f"# {name}\n"} if files is None else files
        if files:
            bare.commit(branch, files, "First commit\n", parent="")
        self.repositories.append(repository)
        return repository

    def fork(self, repository, owner, name=None):
        """Its branches and tags, with issues and rights of its own."""
        name = name or repository.name
        if self.repository(f"{owner}/{name}")[0]:
            raise Refused(422, "name already exists on this account", "custom", "name", "Repository")
        account = self.users.get(owner.lower()) or self.add_user(owner, [], is_organization=True)
        number = self.next_id()
        bare = repository.bare.fork(self.folder / f"{number}.git", repository.default_branch)
        fork = Repository(number, account, name, bare, repository.default_branch, self.now())
        fork.parent, fork.draft_marks, fork.is_private = repository, repository.draft_marks, repository.is_private
        self.repositories.append(fork)
        return fork

    def source(self, repository, owner, name=None):
        """@return the repository whose branch OWNER:BRANCH or OWNER/NAME:BRANCH is, for a pull request; or None"""
        if name is None and owner.lower() == repository.owner.login.lower():
            return repository
        for each in self.repositories:
            is_one = each.owner.login.lower() == owner.lower() and (name is None or each.name.lower() == name.lower())
            if is_one and each.root is repository.root:
                return each
        return None

    def repository(self, full_name):
        """@return (repository, whether that is a former name of it); (None, False)"""
        wanted = full_name.lower()
        for repository in self.repositories:
            if repository.full_name.lower() == wanted:
                return repository, False
        for repository in self.repositories:
            if wanted in repository.former:
                return repository, True
        return None, False

    def rename(self, repository, owner, name):
        repository.former.append(repository.full_name.lower())
        repository.owner = self.users.get(owner.lower()) or self.add_user(owner, [], is_organization=True)
        repository.name = name
        self.version += 1

    # ---- Labels ----

    def add_label(self, repository, name, color="ededed", description=None):
        if not name.strip():
            raise Refused(422, "Validation Failed", "missing_field", "name", "Label")
        if name.lower() in repository.labels:
            raise Refused(422, "Validation Failed", "already_exists", "name", "Label")
        label = Label(self.next_id(), name, color.lstrip("#").lower(), description)
        repository.labels[name.lower()] = label
        return label

    def find_label(self, repository, name):
        label = repository.labels.get(name.lower())
        if label is None:
            raise Refused(404, "Not Found")
        return label

    def edit_label(self, repository, label, name=None, color=None, description=None):
        if name is not None and name.lower() != label.name.lower() and name.lower() in repository.labels:
            raise Refused(422, "Validation Failed", "already_exists", "name", "Label")
        if name is not None:
            del repository.labels[label.name.lower()]
            label.name = name
            repository.labels[name.lower()] = label
        label.color = color.lstrip("#").lower() if color is not None else label.color
        label.description = description if description is not None else label.description
        self.version += 1

    def delete_label(self, repository, label):
        del repository.labels[label.name.lower()]
        for issue in self.all_of(repository):
            issue.labels = [each for each in issue.labels if each is not label]
        self.version += 1

    def put_labels(self, issue, actor, names):
        """Add labels that are not on it; a repository has the first spelling of a name."""
        for name in names:
            label = issue.repository.labels.get(name.lower())
            if label is None and not self.makes_labels:
                continue
            label = label or self.add_label(issue.repository, name)
            if label not in issue.labels:
                issue.labels.append(label)
                self.record(issue, "labeled", actor, label=label)

    def take_label(self, issue, actor, name):
        label = next((each for each in issue.labels if each.name.lower() == name.lower()), None)
        if label is None:
            raise Refused(404, "Label does not exist")
        issue.labels.remove(label)
        self.record(issue, "unlabeled", actor, label=label)

    def set_labels(self, issue, actor, names):
        wanted = {name.lower() for name in names}
        for label in [each for each in issue.labels if each.name.lower() not in wanted]:
            self.take_label(issue, actor, label.name)
        self.put_labels(issue, actor, names)

    # ---- Issues ----

    def record(self, issue, kind, actor, **about):
        issue.events.append(Event(self.next_id(), kind, actor, self.now(), **about))
        self.touch(issue)
        self.tell(issue, kind, actor)

    def tell(self, issue, kind, actor):
        for listener in self.listeners:
            listener(issue, kind, actor)

    def all_of(self, repository):
        """Issues and pull requests that are there."""
        pulls = repository.pulls.values() if self.has_own_pull_numbers else []
        return [each for each in [*repository.issues.values(), *pulls] if not each.is_deleted and not each.moved]

    def make(self, repository, author, title, body, table):
        number = max(table, default=0) + 1
        issue = Issue(repository, self.next_id(), number, author, title, body, self.now())
        table[number] = issue
        return issue

    def add_issue(self, repository, author, title, body=None, labels=(), assignees=()):
        if not isinstance(title, str) or not title.strip():
            raise Refused(422, "Validation Failed", "missing_field", "title")
        if not repository.has_issues:
            raise Refused(410, "Issues are disabled for this repo")
        issue = self.make(repository, author, title, body, repository.issues)
        self.tell(issue, "opened", author)
        self.put_labels(issue, author, labels)
        self.assign(issue, author, assignees)
        return issue

    def issue(self, repository, number, is_pull=None):
        """@param is_pull True: it must be a pull request; None: either"""
        table = repository.pulls if is_pull else repository.issues
        issue = table.get(number)
        if issue is None:
            raise Refused(404, "Not Found")
        if issue.is_deleted:
            raise Refused(410, "This issue was deleted")
        return issue

    def edit_issue(self, issue, actor, title=None, body=None):
        if title is not None and title != issue.title:
            self.record(issue, "renamed", actor, rename=(issue.title, title))
            issue.title = title
        if body is not None and body != issue.body:
            issue.body = body
            self.touch(issue)
            self.tell(issue, "edited", actor)

    def set_state(self, issue, actor, state, reason=None):
        if state not in ("open", "closed"):
            raise Refused(422, "Validation Failed", "invalid", "state")
        if state == issue.state:
            return
        if issue.pull and state == "open" and (issue.pull.merged or not issue.pull.source.bare.head(issue.pull.head)):
            raise Refused(422, "Validation Failed", "invalid", "state", "PullRequest")
        if issue.pull and state == "closed":
            issue.pull.head_id = self.head_of(issue)
        elif issue.pull:
            issue.pull.head_id = None
        issue.state = state
        issue.state_reason = (reason or "completed") if state == "closed" else "reopened"
        issue.closed = self.now() if state == "closed" else None
        issue.closed_by = actor if state == "closed" else None
        self.record(issue, "closed" if state == "closed" else "reopened", actor)

    def assign(self, issue, actor, logins):
        """Accounts that cannot be assigned are left out, as on GitHub."""
        for login in logins:
            user = self.users.get(login.lower())
            if user and self.can_be_assigned(issue.repository, user) and user not in issue.assignees:
                issue.assignees.append(user)
                self.record(issue, "assigned", actor, assignee=user)

    def unassign(self, issue, actor, logins):
        for login in logins:
            user = self.users.get(login.lower())
            if user in issue.assignees:
                issue.assignees.remove(user)
                self.record(issue, "unassigned", actor, assignee=user)

    @staticmethod
    def can_be_assigned(repository, user):
        return not user.is_organization and repository.lets(user, "triage")

    def lock_issue(self, issue, actor, is_locked):
        issue.is_locked = is_locked
        self.record(issue, "locked" if is_locked else "unlocked", actor)

    def transfer(self, issue, actor, repository):
        """It becomes a new issue there; its old place leads on to it."""
        new = self.make(repository, issue.author, issue.title, issue.body, repository.issues)
        new.comments, new.state = issue.comments, issue.state
        self.put_labels(new, actor, [label.name for label in issue.labels if label.name.lower() in repository.labels])
        issue.moved, issue.state = new, "closed"
        self.record(new, "transferred", actor)
        return new

    def delete_issue(self, issue):
        issue.is_deleted = True
        self.touch(issue)

    def relate(self, parent, child):
        if child is parent or child.parent:
            raise Refused(422, "An error occurred while adding the sub-issue to the parent issue.")
        parent.children.append(child)
        child.parent = parent
        self.touch(parent)

    def block(self, issue, blocker):
        if blocker is issue or blocker in issue.blockers:
            raise Refused(422, "Validation Failed", "invalid", "issue_id")
        issue.blockers.append(blocker)
        self.touch(issue)

    # ---- Comments ----

    def add_comment(self, issue, author, body):
        if not isinstance(body, str) or not body.strip():
            raise Refused(422, "Validation Failed", "missing_field", "body", "IssueComment")
        if issue.is_locked and not issue.repository.lets(author, "triage"):
            raise Refused(403, "Unable to create comment because issue is locked.")
        comment = Comment(self.next_id(), author, body, self.now())
        comment.visible_from = time.monotonic() + self.visibility_s
        issue.comments.append(comment)
        self.touch(issue)
        self.tell(issue, "commented", author)
        return comment

    @staticmethod
    def comments(issue):
        now = time.monotonic()
        return [comment for comment in issue.comments if comment.visible_from <= now]

    def find_comment(self, repository, number):
        for issue in self.all_of(repository):
            for comment in issue.comments:
                if comment.id == number:
                    return issue, comment
        raise Refused(404, "Not Found")

    def edit_comment(self, issue, comment, body):
        comment.body, comment.updated = body, self.now()
        self.touch(issue)

    def delete_comment(self, issue, comment):
        issue.comments.remove(comment)
        self.touch(issue)

    # ---- Pull requests ----

    def add_pull(self, repository, author, title, head, base, body=None, is_draft=False, source=None):
        """@param source the fork that has the branch; None = the repository itself"""
        bare, source = repository.bare, source or repository
        if not title:
            raise Refused(422, "Validation Failed", "missing_field", "title", "PullRequest")
        for field, place, branch in (("head", source, head), ("base", repository, base)):
            if not place.bare.head(branch):
                raise Refused(422, "Validation Failed", "invalid", field, "PullRequest")
        words = (source, head, base)
        if any(e.state == "open" and (e.pull.source, e.pull.head, e.pull.base) == words for e in repository.pulls.values()):
            message = f"A pull request already exists for {source.owner.login}:{head}."
            raise Refused(422, message, "custom", None, "PullRequest")
        if not bare.count(bare.head(base), source.bare.head(head)):
            raise Refused(422, f"No commits between {base} and {head}", "custom", None, "PullRequest")
        table = repository.pulls if self.has_own_pull_numbers else repository.issues
        issue = self.make(repository, author, title, body, table)
        issue.pull = Pull(self.next_id(), source, head, base, is_draft)
        issue.pull.base_id = bare.head(base)
        repository.pulls[issue.number] = issue
        self.tell(issue, "opened", author)
        return issue

    @staticmethod
    def head_of(issue):
        """Its last commit: the branch's as long as it is open and the branch is there."""
        pull = issue.pull
        commit = pull.head_id if issue.state == "closed" else pull.source.bare.head(pull.head)
        pull.head_id = commit or pull.head_id
        return pull.head_id

    def make_ready(self, issue):
        """It is no draft any more."""
        issue.pull.is_draft = False
        for mark in issue.repository.draft_marks:
            if issue.title.lower().startswith(mark):
                issue.title = issue.title[len(mark) :].strip()
        self.touch(issue)

    @staticmethod
    def is_mergeable(issue):
        bare, head = issue.repository.bare, World.head_of(issue)
        base = bare.head(issue.pull.base)
        return bool(base and head and bare.merged_tree(base, head))

    def merge_pull(self, issue, actor, method="merge", expected=None, message=None):
        """@return the commit"""
        pull, bare = issue.pull, issue.repository.bare
        head, base = self.head_of(issue), bare.head(pull.base)
        if issue.state == "closed" or issue.is_draft:
            raise Refused(405, "Pull Request is still a draft" if issue.is_draft else "Pull Request is not mergeable")
        if expected and expected != head:
            raise Refused(409, "Head branch was modified. Review and try the merge again.")
        tree = bare.merged_tree(base, head)
        if tree is None:
            raise Refused(405, "Pull Request is not mergeable")
        text = message or f"Merge pull request #{issue.number} from {pull.head}\n\n{issue.title}\n"
        if method == "rebase" and bare.has_ancestor(base, head):
            commit = head
        else:
            commit = bare.make_commit(tree, [base] if method != "merge" else [base, head], text)
        if not bare.set_ref(f"refs/heads/{pull.base}", commit, base):
            raise Refused(409, "Base branch was modified. Review and try the merge again.")
        self.note_merge(issue, actor, commit, bare.messages(base, head))
        return commit

    def note_merge(self, issue, actor, commit, messages=""):
        pull = issue.pull
        pull.head_id = self.head_of(issue)
        pull.merged, pull.merged_by, pull.merge_id = self.now(), actor, commit
        issue.state, issue.closed, issue.closed_by = "closed", self.now(), actor
        self.record(issue, "merged", actor, commit=commit)
        self.record(issue, "closed", actor)
        if pull.base == issue.repository.default_branch:
            for number in CLOSING.findall(f"{issue.body or ''}\n{messages}"):
                closed = issue.repository.issues.get(int(number))
                if closed and not closed.pull:
                    self.set_state(closed, actor, "closed")

    def settle_pulls(self, repository, actor):
        """After a push: a pull request whose commits are all in its base is merged; one whose branch is gone is closed."""
        for issue in [issue for each in self.repositories for issue in each.pulls.values()]:
            bare = issue.repository.bare
            if issue.state != "open" or repository not in (issue.repository, issue.pull.source):
                continue
            head, base = issue.pull.source.bare.head(issue.pull.head), bare.head(issue.pull.base)
            if head is None:
                self.set_state(issue, actor, "closed")
            elif base and head != issue.pull.head_id and issue.pull.head_id:
                issue.pull.head_id = head
                self.touch(issue)
            if head and base and base != issue.pull.base_id and bare.has_ancestor(head, base):
                self.note_merge(issue, actor, base)

    def add_review(self, issue, author, state, body="", lines=()):
        """@param state APPROVED, CHANGES_REQUESTED or COMMENTED; @param lines [{path, line, body}]"""
        review = Review(self.next_id(), author, state, body, self.head_of(issue), self.now())
        issue.pull.reviews.append(review)
        for row in lines:
            comment = Comment(self.next_id(), author, row["body"], self.now())
            comment.path, comment.line, comment.commit = row["path"], row.get("line", 1), review.commit
            comment.review = review
            issue.pull.line_comments.append(comment)
        self.record(issue, "reviewed", author, review=review)
        return review

    def add_check(self, repository, commit, name, status="completed", conclusion="success", summary=""):
        """A check run, or the next state of the one with that name."""
        rows = repository.checks.setdefault(commit, {})
        number = rows[name]["id"] if name in rows else self.next_id()
        conclusion = conclusion if status == "completed" else None
        rows[name] = {"id": number, "name": name, "status": status, "conclusion": conclusion, "summary": summary}
        rows[name]["time"] = self.now()
        self.version += 1
        return rows[name]

    def add_status(self, repository, commit, context, state, description=""):
        rows = repository.statuses.setdefault(commit, {})
        rows[context] = {"id": self.next_id(), "context": context, "state": state, "description": description}
        rows[context]["time"] = self.now()
        return rows[context]

    # ---- References ----

    def make_ref(self, repository, name, commit):
        bare = repository.bare
        if not bare.refs("refs/heads/"):
            raise Refused(409, "Git Repository is empty.")
        if not re.match(r"refs/[^/]+/.+", name):
            raise Refused(422, "Reference name must start with 'refs/' and contain at least two slashes.")
        if not re.fullmatch(r"[0-9a-f]{40}", commit or "") or not bare.has(commit):
            raise Refused(422, "Object does not exist")
        if not bare.set_ref(name, commit, NOBODY):
            raise Refused(422, "Reference already exists")
        self.version += 1

    def move_ref(self, repository, name, commit, is_forced):
        bare = repository.bare
        old = bare.ref(name)
        if old is None:
            raise Refused(422, "Reference does not exist")
        if not bare.has(commit):
            raise Refused(422, "Object does not exist")
        if not is_forced and not bare.has_ancestor(old, commit):
            raise Refused(422, "Update is not a fast forward")
        bare.set_ref(name, commit)
        self.version += 1

    def remove_ref(self, repository, name):
        if repository.bare.ref(name) is None:
            raise Refused(422, "Reference does not exist")
        try:
            repository.bare.delete_ref(name)
        except GitFailed as error:
            raise Refused(422, str(error)) from error
        self.version += 1
