# Slotkeeper as an image: one static file, no shell, no root. See docs/deploy.md.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=""
# Without cgo the file is static: it runs in an image that has nothing else.
# Time zones are part of it.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.release=${VERSION}" -o /out/slotkeeper ./cmd/slotkeeper \
    && install -d -m 0700 /out/volume/data

FROM scratch
# Providers' APIs are called over TLS: these are the authorities that are believed.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/slotkeeper /usr/local/bin/slotkeeper
# A new volume takes owner and mode from here. The directory is copied as part of
# another: builders give the one that COPY names a mode of their own.
COPY --from=build --chown=65532:65532 /out/volume/ /
USER 65532:65532
# In a container, 127.0.0.1 would be the container alone.
ENV SLOTKEEPER_LISTEN=0.0.0.0:8080 \
    SLOTKEEPER_DATA_DIR=/data \
    SQLITE_TMPDIR=/data \
    SLOTKEEPER_LOG_FORMAT=json
VOLUME ["/data"]
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/local/bin/slotkeeper", "healthcheck"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/slotkeeper"]
CMD ["serve"]
