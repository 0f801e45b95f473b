"""The demo users' projects, as a product's own directory would tell of them."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.tokens import Person

ADDRESS = "/directory/organisations/{organisation}/users/{user}/projects"


def build_directory_route(read_people: Callable[[], tuple[Person, ...]]) -> Route:
    """Return the one route of the directory; people are read at each question, so that they may change."""

    async def answer(request: Request) -> Response:
        wanted = (request.path_params["organisation"], request.path_params["user"])
        for person in read_people():
            if (person.organisation_id, person.user_id) == wanted:
                return JSONResponse({"projectIds": list(person.projects)})
        return JSONResponse({"title": "Not found", "status": 404}, status_code=404)

    return Route(ADDRESS, answer)
