# SPDX-License-Identifier: Apache-2.0
"""How GitLab writes things down (API v4)."""

LEVELS = {"none": 0, "read": 10, "triage": 20, "write": 30, "maintain": 40, "admin": 50}


def moment(when):
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z") if when else None


def user(request, account):
    if account is None:
        return None
    return {
        "id": account.id, "username": account.login, "public_email": None, "name": account.login, "state": "active",
        "locked": False, "avatar_url": None, "web_url": f"{request.site}/{account.login}",
    }  # fmt: skip


def project(request, what):
    page = f"{request.site}/{what.full_name}"
    namespace = {
        "id": what.owner.id, "name": what.owner.login, "path": what.owner.login.rsplit("/", 1)[-1], "kind": "group",
        "full_path": what.owner.login, "parent_id": None, "avatar_url": None, "web_url": f"{request.site}/groups/{what.owner.login}",
    }  # fmt: skip
    level = LEVELS[what.level(request.user)] if request.user else 0
    is_member = request.user and (what.owner is request.user or request.user.login.lower() in what.permissions)
    access = {"access_level": level, "notification_level": 3} if is_member else None
    return {
        "id": what.id, "description": None, "name": what.name, "name_with_namespace": f"{what.owner.login} / {what.name}",
        "path": what.name, "path_with_namespace": what.full_name, "created_at": moment(what.created),
        "default_branch": what.default_branch if what.bare.refs("refs/heads/") else None, "tag_list": [], "topics": [],
        "ssh_url_to_repo": f"git@{request.host}:{what.full_name}.git", "http_url_to_repo": f"{page}.git", "web_url": page,
        "readme_url": None, "forks_count": 0, "avatar_url": None, "star_count": 0, "last_activity_at": moment(what.updated),
        "namespace": namespace, "empty_repo": not what.bare.refs("refs/heads/"), "archived": what.is_archived,
        "visibility": "private" if what.is_private else "public", "issues_enabled": what.has_issues,
        "merge_requests_enabled": True, "issues_access_level": "enabled" if what.has_issues else "disabled",
        "merge_requests_access_level": "enabled", "merge_method": "merge", "open_issues_count": 0,
        "permissions": {"project_access": access, "group_access": None},
        **({"forked_from_project": origin(request, what.parent)} if what.parent else {}),
    }  # fmt: skip


def origin(request, what):
    """What a project was forked from, as its fork says."""
    names = ("id", "name", "name_with_namespace", "path", "path_with_namespace", "http_url_to_repo", "web_url")
    return {name: value for name, value in project(request, what).items() if name in names}


def label(request, what):
    return {
        "id": what.id, "name": what.name, "description": what.description, "description_html": what.description or "",
        "text_color": "#FFFFFF", "color": f"#{what.color}", "open_issues_count": 0, "closed_issues_count": 0,
        "open_merge_requests_count": 0, "subscribed": False, "priority": None, "is_project_label": True, "archived": False,
    }  # fmt: skip


def state_of(what):
    return "merged" if what.pull and what.pull.merged else "opened" if what.state == "open" else "closed"


def people(request, what):
    """Members of issues and merge requests alike."""
    kind, mark = ("merge_requests", "!") if what.pull else ("issues", "#")
    where = what.repository
    return {
        "id": what.pull.id if what.pull else what.id, "iid": what.number, "project_id": where.id, "title": what.title,
        "description": what.body, "state": state_of(what), "created_at": moment(what.created),
        "updated_at": moment(what.updated), "closed_at": moment(what.closed), "closed_by": user(request, what.closed_by),
        "labels": sorted(each.name for each in what.labels), "milestone": None,
        "assignees": [user(request, each) for each in what.assignees],
        "assignee": user(request, what.assignees[0]) if what.assignees else None, "author": user(request, what.author),
        "user_notes_count": len(what.comments), "upvotes": 0, "downvotes": 0,
        "discussion_locked": True if what.is_locked else None,
        "web_url": f"{request.site}/{where.full_name}/-/{kind}/{what.number}",
        "time_stats": {"time_estimate": 0, "total_time_spent": 0, "human_time_estimate": None, "human_total_time_spent": None},
        "task_completion_status": {"count": 0, "completed_count": 0}, "imported": False, "imported_from": "none",
        "references": {
            "short": f"{mark}{what.number}", "relative": f"{mark}{what.number}", "full": f"{where.full_name}{mark}{what.number}",
        },
    }  # fmt: skip


def issue(request, what):
    address = f"{request.api}/projects/{what.repository.id}/issues/{what.number}"
    return people(request, what) | {
        "type": "ISSUE", "issue_type": "issue", "due_date": None, "confidential": False, "weight": None,
        "merge_requests_count": 0, "blocking_issues_count": 0, "has_tasks": True, "task_status": "0 of 0 checklist items completed",
        "severity": "UNKNOWN", "moved_to_id": what.moved.id if what.moved else None, "service_desk_reply_to": None,
        "_links": {"self": address, "notes": f"{address}/notes", "project": f"{request.api}/projects/{what.repository.id}"},
    }  # fmt: skip


def note(request, where, what):
    diff = {"type": "DiffNote"} if what.path else {"type": None}
    shown = {
        "id": what.id, **diff, "body": what.body, "author": user(request, what.author), "created_at": moment(what.created),
        "updated_at": moment(what.updated), "system": False, "noteable_id": where.pull.id if where.pull else where.id,
        "noteable_type": "MergeRequest" if where.pull else "Issue", "project_id": where.repository.id,
        "resolvable": bool(what.path), "confidential": False, "internal": False, "imported": False, "imported_from": "none",
        "noteable_iid": where.number, "commands_changes": {},
    }  # fmt: skip
    if what.path:
        shown["resolved"] = False
        shown["position"] = {"new_path": what.path, "old_path": what.path, "new_line": what.line, "head_sha": what.commit}
    return shown


WORDS = {
    "labeled": "added ~{label} label", "unlabeled": "removed ~{label} label", "closed": "closed", "reopened": "reopened",
    "assigned": "assigned to @{assignee}", "unassigned": "unassigned @{assignee}", "renamed": "changed title",
    "locked": "locked this issue", "unlocked": "unlocked this issue", "merged": "merged", "reviewed": "reviewed",
}  # fmt: skip


def system_note(request, where, what):
    """What happened stands among the notes, too."""
    label_id = what.about["label"].id if "label" in what.about else 0
    login = what.about["assignee"].login if "assignee" in what.about else ""
    words = WORDS.get(what.kind, what.kind).format(label=label_id, assignee=login)
    return {
        "id": what.id, "type": None, "body": words, "author": user(request, what.actor), "created_at": moment(what.created),
        "updated_at": moment(what.created), "system": True, "noteable_id": where.pull.id if where.pull else where.id,
        "noteable_type": "MergeRequest" if where.pull else "Issue", "project_id": where.repository.id, "resolvable": False,
        "confidential": False, "internal": False, "imported": False, "imported_from": "none", "noteable_iid": where.number,
        "commands_changes": {},
    }  # fmt: skip


def label_event(request, where, what):
    named = what.about["label"]
    return {
        "id": what.id, "user": user(request, what.actor), "created_at": moment(what.created),
        "resource_type": "MergeRequest" if where.pull else "Issue", "resource_id": where.id,
        "label": {"id": named.id, "name": named.name, "color": f"#{named.color}", "description": named.description},
        "action": "add" if what.kind == "labeled" else "remove",
    }  # fmt: skip


def merge_request(request, what, head_id, is_mergeable):
    status = "not_open" if what.state != "open" else "draft_status" if what.is_draft else "mergeable" if is_mergeable else "conflict"
    return people(request, what) | {
        "merged_by": user(request, what.pull.merged_by), "merge_user": user(request, what.pull.merged_by),
        "merged_at": moment(what.pull.merged), "target_branch": what.pull.base, "source_branch": what.pull.head,
        "reviewers": [], "source_project_id": what.pull.source.id, "target_project_id": what.repository.id,
        "draft": what.is_draft, "work_in_progress": what.is_draft, "merge_when_pipeline_succeeds": False,
        "merge_status": "can_be_merged" if is_mergeable else "cannot_be_merged", "detailed_merge_status": status,
        "sha": head_id, "merge_commit_sha": what.pull.merge_id, "squash_commit_sha": None, "should_remove_source_branch": None,
        "force_remove_source_branch": False, "prepared_at": moment(what.created), "reference": f"!{what.number}",
        "squash": False, "squash_on_merge": False, "has_conflicts": not is_mergeable and what.state == "open",
        "blocking_discussions_resolved": True,
    }  # fmt: skip


def whole_merge_request(request, what, head_id, is_mergeable):
    base_id = what.repository.bare.head(what.pull.base) or what.pull.base_id
    level = what.repository.lets(request.user, "write")
    return merge_request(request, what, head_id, is_mergeable) | {
        "subscribed": False, "changes_count": "1", "latest_build_started_at": None, "latest_build_finished_at": None,
        "first_deployed_to_production_at": None, "pipeline": None, "head_pipeline": None, "first_contribution": False,
        "diff_refs": {"base_sha": what.pull.base_id, "head_sha": head_id, "start_sha": base_id}, "merge_error": None,
        "user": {"can_merge": level},
    }  # fmt: skip


def status(request, commit, row):
    return {
        "id": row["id"], "sha": commit, "ref": None, "status": row["state"], "name": row["context"], "target_url": None,
        "description": row["description"], "created_at": moment(row["time"]), "started_at": None,
        "finished_at": moment(row["time"]), "allow_failure": False, "coverage": None, "pipeline_id": row["id"], "author": None,
    }  # fmt: skip


def branch(request, where, name, commit):
    about = {"id": commit, "short_id": commit[:8], "created_at": moment(where.created), "title": "A commit", "message": "A commit\n"}
    page = f"{request.site}/{where.full_name}/-/tree/{name}"
    return {
        "name": name, "commit": about, "merged": False, "protected": False, "developers_can_push": False,
        "developers_can_merge": False, "can_push": True, "default": name == where.default_branch, "web_url": page,
    }  # fmt: skip
