"""What litellm must find in the environment when it is imported: nothing is fetched then.

Prices, header lists and tokenizers are those in the package. Without the mode litellm would read a
.env that it finds. What the user has set stays.
"""

import os

for _name, _value in (
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ("LITELLM_OFFLINE_MODE", "true"),
    ("LITELLM_MODE", "PRODUCTION"),
):
    os.environ.setdefault(_name, _value)
