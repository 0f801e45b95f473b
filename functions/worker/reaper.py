"""Every minute: runs whose worker is dead are ended, visibly."""

from equerry.runtime.reaper import build_reaper_app

handle = build_reaper_app()
