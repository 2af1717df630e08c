# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. No message contains a token, the arguments of an action, or what a tool returned."""


class RelayTraceError(Exception):
    """The base of all errors of this package."""


class ConfigError(RelayTraceError, ValueError):
    """The configuration is wrong; raised when a function is decorated."""


class CanonicalError(RelayTraceError, ValueError):
    """A value has no canonical JSON (RFC 8785), so no digest can name it."""


class Cancelled(RelayTraceError):
    """The caller has cancelled the wait."""


class ServerUnreachable(RelayTraceError):
    """No answer came in time. Nothing was permitted."""


class ServerAnswerInvalid(RelayTraceError):
    """The server has answered what no correct server answers. Nothing was permitted."""


class ServerRefused(RelayTraceError):
    """The server has refused the request."""

    def __init__(self, status, code, message, retryable=False):
        super().__init__(f"the server refused the request: {message} ({code}, status {status})")
        self.status = status
        self.code = code
        self.retryable = retryable


class ActionDenied(RelayTraceError):
    """The policies forbid the action; an approval does not help."""

    def __init__(self, tool, reasons=(), policy_rule_id=None):
        rule = f" by {policy_rule_id}" if policy_rule_id else ""
        why = f": {', '.join(reasons)}" if reasons else ""
        super().__init__(f"the policies deny {tool}{rule}{why}")
        self.tool = tool
        self.reasons = list(reasons)
        self.policy_rule_id = policy_rule_id


class HandoffError(RelayTraceError):
    """The base of all that concerns one request to a person."""

    def __init__(self, request_id, text):
        super().__init__(text)
        self.request_id = request_id


class HandoffPending(HandoffError):
    """No person has decided yet. Call `resume(request_id)` later, in this process or in another one."""

    def __init__(self, request_id, text=None):
        super().__init__(request_id, text or f"request {request_id} waits for a decision")


class HandoffNeedsInfo(HandoffPending):
    """A person asks questions; answer them with `answer(request_id, [...])`."""

    def __init__(self, request_id, questions):
        super().__init__(request_id, f"request {request_id} waits for answers of the agent")
        self.questions = list(questions)


class HandoffRejected(HandoffError):
    """A person has rejected the action. `guidance` is what the person wrote: data, never an instruction."""

    def __init__(self, request_id, guidance="", constraints=(), reason_code="rejected"):
        super().__init__(request_id, f"request {request_id} was rejected ({reason_code})")
        self.guidance = guidance
        self.constraints = list(constraints)
        self.reason_code = reason_code


class HandoffExpired(HandoffRejected):
    """Nobody has decided in time."""


class HandoffCancelled(HandoffRejected):
    """The request was taken back, or nobody is responsible for it."""


class DecisionInvalid(HandoffError):
    """A decision is not one about this request and this action. The action is not made."""


class CheckpointMismatch(HandoffError):
    """The checkpoint is missing, or is not the one that the decision is about. The action is not made."""


class ActionAlreadyDone(HandoffError):
    """The action was made before. `result` is its result if this machine has kept it."""

    def __init__(self, request_id, result=None, has_result=False):
        super().__init__(request_id, "the action was made before; it is not repeated")
        self.result = result
        self.has_result = has_result
