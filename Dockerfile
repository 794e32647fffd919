# The dashboard for a lab. Once it is built, nothing comes from outside.
#
#   docker build --tag genoviz .
#   docker run --publish 5006:5006 --volume /data:/data:ro --volume genoviz:/cache genoviz
#
# What follows goes to `genoviz serve`, as `--lab /etc/genoviz/lab.toml`; a file of a lab that has a
# prefix needs `--env PREFIX=/genoviz` for the health check.

FROM python:3.11-slim AS build
RUN python -m venv /opt/genoviz
COPY requirements-hashed.txt /source/
RUN /opt/genoviz/bin/pip install --no-cache-dir --require-hashes -r /source/requirements-hashed.txt
COPY pyproject.toml setup.py README.md LICENSE /source/
COPY genoviz /source/genoviz
COPY app /source/app
RUN /opt/genoviz/bin/pip install --no-cache-dir --no-deps /source

FROM python:3.11-slim
COPY --from=build /opt/genoviz /opt/genoviz
RUN useradd --system --no-create-home genoviz && mkdir /cache /data && chown genoviz /cache
ENV GENOVIZ_CACHE_DIR=/cache NUMBA_CACHE_DIR=/cache/numba PREFIX=""
VOLUME /cache
WORKDIR /data
EXPOSE 5006
USER genoviz
HEALTHCHECK --start-period=120s CMD ["/opt/genoviz/bin/python", "-c", \
  "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:5006{os.environ[\"PREFIX\"]}/healthz')"]
ENTRYPOINT ["/opt/genoviz/bin/genoviz", "serve", "--no-browser", "--address", "0.0.0.0", "--port", "5006"]
