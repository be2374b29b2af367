"""One module per runtime under measurement; each is imported only in its own environment.

Module constants the driver reads without importing: TITLE, IMPORT (what scenario A measures), and
where needed VENV (an environment shared with another adapter), ENVIRONMENT (variables), PROJECT
(answers with which the template is rendered first).
"""
