@serve
Feature: A server keeps those out whom it does not serve

  # ---- Tokens ----

  Scenario: Every operation asks for a token
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    Then every operation that is not public answers 401 "unauthorized" to
      | nothing at all               |                                       |
      | a token that nobody made     | Authorization: Bearer rondo_$WRONG    |
      | a token with one letter less | Authorization: Bearer $SHORTENED      |
      | a token with one letter more | Authorization: Bearer $ADMINISTERx    |
      | another letter at the end    | Authorization: Bearer $CHANGED        |
      | the empty token              | Authorization: Bearer                 |
      | another scheme               | Authorization: Basic cm9uZG86cm9uZG8= |
      | a token without a scheme     | Authorization: $ADMINISTER            |
      | a token as a cookie          | Cookie: token=$ADMINISTER             |
      | a token in another header    | X-Api-Key: $ADMINISTER                |
      | a digest as the store has it | Authorization: Bearer $DIGEST         |
    And every operation that is not public answers "malformed" to two tokens at once
    And nothing has changed

  Scenario: A token in the address is none
    Given a server with `--require-token`
    When I ask for "/v1/runs?token=rondo_x" without a token
    Then the answer is the problem "unauthorized" with 401

  Scenario: A token that is over or revoked is worth nothing
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    When the token "short" of 1 second is over
    Then every operation that is not public answers 401 "unauthorized" to it
    When the token "gone" is revoked
    Then every operation that is not public answers 401 "unauthorized" to it
    And nothing has changed

  Scenario Outline: The scope <scope> opens what it says and no more
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    When I have a token of the scope "<scope>"
    Then every other operation answers 403 "forbidden"
    And every operation that it has the right to answers something else
    And nothing has changed

    Examples:
      | scope   |
      | read    |
      | operate |
      | decide  |
      | reveal  |

  Scenario: A token of an agent opens nothing that is for people
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    When I have a token of the scope "agent" for the agent "mine"
    Then every other operation answers 403 "forbidden"
    And nothing has changed

  Scenario: The token of one agent does not see another one's runs
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    When I have a token of the scope "operate" for the agent "other"
    Then every operation on that run answers 404, as for a run that does not exist
    And no list or stream has anything of the agent "mine"
    And everything of the whole server answers 403 "forbidden"
    When I post to "/v1/runs" with the token that was printed
      """
      {"command": ["true"], "agent_id": "mine", "sandbox": "namespace"}
      """
    Then the answer is the problem "forbidden" with 403

  Scenario: A run without a sandbox is no way out of it
    Given a worker
      """
      echo ran >>bodies
      """
    And a server with `--require-token`
    When I run `rondo loop -q --agent mine --max-iterations 1 -- ./worker.sh`
    And I have a token of the scope "operate" for the agent "mine"
    Then going on with that run is refused with 403 "forbidden" on every way
    And the worker ran once

  Scenario: The public part tells nothing of runs
    Given a server with `--require-token`
    And a run of the agent "mine"
    Then no public operation has the words "mine", "worker.sh" or the run's id

  # ---- This user's own programs, and who only looks like one ----

  Scenario Outline: Who comes through a proxy of this user needs a token
    Given a server
    And a <kind> proxy of the same user in front of it
    When I ask the proxy for "/v1/me"
    Then the answer is the problem "unauthorized" with 401
    When I ask the server itself for "/v1/me"
    Then the answer is 200 with
      | is_local | true |

    Examples:
      | kind     |
      | telling  |
      | standard |
      | silent   |

  Scenario: That there is a proxy is said once
    Given a server
    And a telling proxy of the same user in front of it
    When I ask the proxy for "/v1/me"
    And I ask the proxy for "/v1/me"
    Then the server says "requests come through a proxy (they have x-forwarded-for)"
    And it has said so once

  Scenario Outline: A server that is reached under a name of outside demands tokens of everybody
    Given a server with `<options>`
    Then the server says "every client needs a token, including your own programs (<why>"
    And the server says "there is no token yet"
    When I ask the server itself for "/v1/me"
    Then the answer is the problem "unauthorized" with 401

    Examples:
      | options                         | why             |
      | --host rondo.example.org        | --host          |
      | --url https://rondo.example.org | --url           |
      | --require-token                 | --require-token |

  Scenario: A name that could never match is refused at the start
    When I run `rondo serve --listen 127.0.0.1:0 --host https://rondo.example.org`
    Then the exit code is 2
    And stderr mentions "is no name of a host"

  Scenario: Other machines call a server by its address or by the machine's name
    Given a server with `--listen 0.0.0.0:0`
    And a run of the agent "mine"
    Then the server says "clients there need a token"
    And under the machine's own addresses it answers 401 without a token and 200 with one
    And under these names it answers 200 with a token
      | localhost      |
      | 127.0.0.1      |
      | $HOSTNAME      |
      | 192.0.2.7:7466 |
      | [2001:db8::7]  |
    And under these names it answers 421 with a token
      | rondo.example.org   |
      | 127.0.0.1.nip.io    |
      | $HOSTNAME.evil.test |
      | 2130706433          |
      | 0x7f.1              |
    When I ask the server itself for "/v1/me"
    Then the answer is 200 with
      | is_local | true |

  Scenario: A Unix socket is for its owner
    Given a server with `--listen 127.0.0.1:0 --listen unix:rondo.sock`
    Then the file "rondo.sock" has the mode 600
    And the file "STATE/rondo.db" has the mode 600

  # ---- Pages of other sites ----

  Scenario: A name that a foreign DNS server points here is not this server's
    Given a server
    Then every operation answers 421 "bad_host" to
      | another name                | Host: evil.example           |
      | with our port               | Host: evil.example:$PORT     |
      | a name that begins so       | Host: localhost.evil.example |
      | an address inside of a name | Host: 127.0.0.1.evil.example |
      | a user before it            | Host: localhost@evil.example |
      | a wrong port                | Host: localhost:80x          |

  Scenario: A page of another origin can do nothing
    Given a server
    And a run of the agent "mine"
    Then every operation answers 403 "bad_origin" to
      | another site          | Origin: https://evil.example        |
      | another port          | Origin: http://127.0.0.1:1          |
      | another name for it   | Origin: http://localhost.evil:$PORT |
      | a page without origin | Origin: null                        |
      | a file                | Origin: file://                     |
      | an extension          | Origin: chrome-extension://abcdef   |
    And every operation below "/v1" answers 403 "bad_origin" to
      | another site  | Sec-Fetch-Site: cross-site |
      | a sister site | Sec-Fetch-Site: same-site  |
    And no answer allows another origin to read it
    And nothing has changed

  Scenario Outline: What a form can send is no request
    Given a server
    When I post to "/v1/runs" as "<type>"
      """
      {"command": ["touch", "pwned"], "agent_id": "form"}
      """
    Then the answer is the problem "unsupported_media_type" with 415
    And nothing has changed

    Examples:
      | type                              |
      | text/plain                        |
      | application/x-www-form-urlencoded |
      | multipart/form-data; boundary=x   |
      | text/plain; application/json      |
      | application/jsonp                 |
      | nothing                           |

  # ---- What is asked for ----

  Scenario: Paths that climb lead nowhere
    Given a server
    And a file "secret.txt" with
      """
      the-secret-of-the-project
      """
    Then none of these paths gives a file
      | /../secret.txt                              |
      | /..%2fsecret.txt                            |
      | /%2e%2e/secret.txt                          |
      | /%2e%2e%2fsecret.txt                        |
      | /..%5csecret.txt                            |
      | /%252e%252e%252fsecret.txt                  |
      | /..%c0%afsecret.txt                         |
      | /.//secret.txt                              |
      | //secret.txt                                |
      | /assets/../../secret.txt                    |
      | /secret.txt                                 |
      | /rondo.db                                   |
      | /etc/passwd                                 |
      | //etc/passwd                                |
      | /%2fetc%2fpasswd                            |
      | /index.html%00.js                           |
      | /v1/runs/..%2f..%2f..%2fetc%2fpasswd        |
      | /v1/runs/%2e%2e                             |
      | /v1/runs/x/checkpoints/..%2f..%2fsecret.txt |
      | /v1/../secret.txt                           |
      | /v1/sinks/..%2f..%2fsecret.txt              |

  Scenario: Bodies that are too large or broken are refused, and the server goes on
    Given a server
    Then these bodies are refused
      | one byte more than 1 MiB | 413 | too_large |
      | 4 GiB announced          | 413 | too_large |
      | 20 digits of length      | 413 | too_large |
      | chunks that never end    | 413 | too_large |
      | half an object           | 400 | malformed |
      | 100000 brackets          | 400 | malformed |
      | a member twice           | 400 | malformed |
      | bytes that are no UTF-8  | 400 | malformed |
      | a NUL                    | 400 | malformed |
      | a list                   | 400 | malformed |
      | a number of 1000 digits  | 422 | invalid   |
      | two objects              | 400 | malformed |
      | a comment                | 400 | malformed |
      | a bare word              | 400 | malformed |
    And the server answers "/healthz"
    And nothing has changed

  Scenario: Clients that send a byte at a time are cut off, and others do not notice
    Given a server
    When 100 clients send a byte of their request every 200 ms
    Then "/v1/health" is answered within 5000 ms all the while
    And each of them is cut off within 30 seconds

  Scenario: Clients that send nothing hold no place for ever
    Given a server with `--max-connections 20`
    When 20 clients connect and say nothing
    Then "/healthz" is answered again within 30 seconds

  Scenario: Line ends in what a client says come out in no header
    Given a server
    Then no answer has a header "X-Injected" or a status of its own for
      | /%0d%0aX-Injected:%20yes                        |
      | /v1/runs/%0d%0aX-Injected:%20yes                |
      | /v1/runs?agent=%0d%0aX-Injected:%20yes          |
      | /v1/runs?q=a%0aX-Injected:%20yes                |
      | /v1/runs?cursor=%0d%0a%0d%0aHTTP/1.1%20200%20OK |
      | /v1/sinks/a%0d%0aX-Injected:%20yes              |
      | /v1/events?types=a%0d%0aX-Injected:%20yes       |
    When I post to "/v1/runs"
      """
      {"command": ["true"], "agent_id": "a\r\nX-Injected: yes", "max_iterations": 1}
      """
    Then the answer is 422

  Scenario: Line ends in a reason begin no event of their own
    Given a worker
      """
      sleep 0.1
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "steady", "max_iterations": 1000, "prompt": "a\n\nevent: forged\ndata: {}\n\n"}
      """
    And I follow the events of the run
    And I post to "/v1/runs/$RUN/stop"
      """
      {"reason": "done\n\nid: 999999\nevent: forged\ndata: {\"seq\": 1}\n\n\u001b[31m"}
      """
    Then what I follow comes to "run.finished"
    And what I followed has the numbers from 1 on without gap
    And nothing that I followed is "forged"

  Scenario: Requests with two meanings have none
    Given a server
    Then each of these is refused, and what follows it is not read as a request
      | two lengths                     | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n                                                  |
      | the same length twice           | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n                                                   |
      | a list of lengths               | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: 0, 44\r\n\r\n                                                                    |
      | a length with a sign            | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: +0\r\n\r\n                                                                       |
      | a length in hexadecimal         | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: 0x0\r\n\r\n                                                                      |
      | chunks and a length             | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n                                 |
      | a length and chunks             | POST /v1/runs HTTP/1.1\r\n$HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n                                 |
      | chunks twice                    | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n                        |
      | another coding                  | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: identity\r\n\r\n                                                              |
      | a coding behind chunks          | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n                                                |
      | a blank before the colon        | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n                                                     |
      | a folded header                 | POST /v1/runs HTTP/1.1\r\n$HOST\r\nX-A: b\r\n Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n |
      | a coding with a vertical tab    | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n                                                  |
      | a chunk whose size is too large | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n\r\n                                      |
      | a chunk of a negative size      | POST /v1/runs HTTP/1.1\r\n$HOST\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n                                                     |
      | two hosts                       | GET /v1/me HTTP/1.1\r\n$HOST\r\n$HOST\r\n\r\n                                                                                       |
      | an absolute address             | GET http://evil.example/v1/me HTTP/1.1\r\n$HOST\r\n\r\n                                                                             |
    And nothing has changed

  Scenario: What is no request of HTTP/1.1 does no harm
    Given a server
    Then these get no more than a refusal
      | HTTP/1.0 without a host   | GET /v1/me HTTP/1.0\r\n\r\n                                                                                       |
      | an empty host             | GET /v1/me HTTP/1.1\r\nHost:\r\n\r\n                                                                              |
      | HTTP/1.0                  | GET /v1/me HTTP/1.0\r\n$HOST\r\n\r\n                                                                              |
      | HTTP/0.9                  | GET /v1/me\r\n                                                                                                    |
      | HTTP/2                    | PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n                                                                                  |
      | HTTP/9.9                  | GET /v1/me HTTP/9.9\r\n$HOST\r\n\r\n                                                                              |
      | no version                | GET /v1/me FTP/1.1\r\n$HOST\r\n\r\n                                                                               |
      | TRACE                     | TRACE /v1/me HTTP/1.1\r\n$HOST\r\nX-Echo: me\r\n\r\n                                                              |
      | CONNECT                   | CONNECT evil.example:443 HTTP/1.1\r\n$HOST\r\n\r\n                                                                |
      | OPTIONS                   | OPTIONS /v1/runs HTTP/1.1\r\n$HOST\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n |
      | OPTIONS of everything     | OPTIONS * HTTP/1.1\r\n$HOST\r\n\r\n                                                                               |
      | a method in small print   | get /v1/me HTTP/1.1\r\n$HOST\r\n\r\n                                                                              |
      | a method of 33 letters    | AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA /v1/me HTTP/1.1\r\n$HOST\r\n\r\n                                                |
      | a method of strange signs | G(T /v1/me HTTP/1.1\r\n$HOST\r\n\r\n                                                                              |
      | no method                 | \x20/v1/me HTTP/1.1\r\n$HOST\r\n\r\n                                                                              |
      | TLS                       | \x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n                                                              |
      | nothing but line ends     | \r\n\r\n\r\n\r\n                                                                                                  |
      | a method override         | POST /v1/runs HTTP/1.1\r\n$HOST\r\nX-HTTP-Method-Override: DELETE\r\nContent-Length: 0\r\n\r\n                    |
    And nothing has changed

  # ---- What comes out ----

  Scenario: Secrets come out nowhere
    Given the server's environment has secrets
    And a worker
      """
      env >environment
      echo done
      """
    And a server with `--require-token --rate 100000`
    And a sink with a secret in its address
    When a run was started with a token
    And the run soon has the status "max_iterations"
    Then no page, answer, event, error or line of the log has a secret
    And the store does not have the tokens
    And the worker in its sandbox did not see the server's secrets

  Scenario: Every answer tells browsers what they may do with it
    Given a server with `--require-token --rate 100000`
    And a run of the agent "mine"
    Then every answer of every operation has the headers of safety
    And so have the answers with 400, 401, 404, 405, 408, 413, 415, 421, 422, 431 and 501
    And refusals of heads that cannot be read contain nothing of the request

  # ---- Rates, and who did what ----

  Scenario: One who asks too often waits, and others do not
    Given a server with `--require-token --rate 1`
    When a token asks 40 times at once
    Then some of its requests are answered 429 "rate_limited" with "retry-after"
    And the other token is answered 200

  Scenario: Guessing tokens is slow
    Given a server with `--require-token --rate 1`
    When somebody tries 60 tokens
    Then most of these are answered 429 "rate_limited"
    And a right token is answered 200 all the same

  Scenario: The journal says who did what
    Given a worker
      """
      sleep 0.1
      """
    And a server
    When a run is started, paused, continued, limited and stopped by the tokens "ann", "bob", "cem", "dan" and "eve"
    Then the journal and the log name "token ann (api)", "token bob (api)", "token cem (api)", "token dan (api)" and "token eve (api)"

  Scenario: A log that nobody reads stops nobody
    Given a server whose stderr is a full pipe that nobody reads
    Then 200 changing requests are all answered
    When somebody reads the pipe again
    Then a changing request says how many lines were lost
