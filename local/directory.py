"""Who belongs to which projects, as a product's own directory would tell."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.memberships import Memberships

ADDRESS = "/directory/organisations/{organisation}/users/{user}/projects"


def build_directory_route(memberships: Memberships) -> Route:
    """Return the one route of the directory; every question is answered by what holds then."""

    async def answer(request: Request) -> Response:
        wanted = request.path_params
        projects = memberships.find_projects(wanted["organisation"], wanted["user"])
        if projects is None:
            return JSONResponse({"title": "Not found", "status": 404}, status_code=404)
        return JSONResponse({"projectIds": list(projects)})

    return Route(ADDRESS, answer)
