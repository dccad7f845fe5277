"""Secret-shaped texts, put together from parts, so that none stands in the repository."""

# A token of this server's own shape; in lower case it looks like any long name.
OWN_TOKEN = "agentmem_" + "Qi0VpEBOWfbZAVaBSo63" + "bbH6xnAbnBEoonCrbabcdXy"
GITHUB_TOKEN = "ghp_" + "16C7e42F292c6912" + "E7710c838347Ae178B4a"
