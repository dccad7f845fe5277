"""Secret-shaped texts, put together from parts, so that none stands in the repository."""

GITHUB_TOKEN = "ghp_" + "16C7e42F292c6912" + "E7710c838347Ae178B4a"
